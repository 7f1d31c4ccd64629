import type { BuildOutcome } from '#libs/contracts/compute';
import type { Selection } from '#libs/contracts/selection';
import type { RunningInstance } from '#libs/contracts/stats';
import type { HostPosition } from '#libs/domain/host-position';
import type { Attempt, Instance, PowerState } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import type { MigrationKind } from '#libs/domain/moves/migration';
import type { Preemption } from '#libs/domain/queueing/admission';

/** The claim that an instance holds in the placement store, as far as it was read. */
export type Holds =
  | { readonly kind: 'unread' }
  | { readonly kind: 'none' }
  /** `isOnHost`: on the providers of the host that the record names. `consumerType`: INSTANCE unless given. */
  | {
      readonly kind: 'claim';
      readonly claimToken: number;
      readonly isOnHost: boolean;
      readonly consumerType?: string | undefined;
    };

/** A host that is claimed for an instance. */
export interface ClaimedHost {
  readonly host: string;
  readonly serviceHost: string;
  readonly claimToken: number;
  /** Sealed: by which it is claimed, and is claimed again. */
  readonly allocationRequest: Uint8Array;
  /** As of the selection; 0 when not known. */
  readonly epoch: number;
  /** The hosts that are left to try after it, best first. */
  readonly alternates: readonly Selection[];
  /** Alternates that could not be claimed on the way to it. */
  readonly passedOver: readonly Attempt[];
}

export interface Fault {
  readonly reason: string;
  readonly message: string;
}

/**
 * A scheduler's word that exactly this instance was to run on exactly this host, by an order that the store has forgotten:
 * whose it is, and what it holds.
 */
export interface Voucher {
  readonly projectId: string;
  readonly userId: string;
  readonly resources: Resources;
  /** True when a scheduler's seal says it, which its host shows: more than the host has was never claimed there. */
  readonly isSealed?: boolean;
  /** By class, the most that its host had in all when any of what it shows was sealed. */
  readonly capacities?: Resources | undefined;
}

/** A move that is asked for. */
export interface WantedMove {
  readonly kind: MigrationKind;
  /** The instance's spec after the move. */
  readonly requestSpec: Uint8Array;
  /** '' for any host. */
  readonly targetHost: string;
  /** 0 for never. */
  readonly confirmAfterMs: number;
  /** The joint plan under which it is claimed with others. */
  readonly plan?: string | undefined;
}

/** An observation of an instance, or the outcome of the step before. */
export type Observation =
  /** Nobody saw anything: somebody looks, because a deadline may have passed. */
  | { readonly kind: 'nothing' }
  /** The record was stored just now. */
  | { readonly kind: 'accepted' }
  /** Whoever wrote the record may have died before what follows the write: the order, the release. */
  | { readonly kind: 'interrupted' }
  /** The client, or an operator, wants it gone. */
  | { readonly kind: 'terminate_requested' }
  /** The client, or an operator, wants it stopped, or started again. */
  | { readonly kind: 'power_requested'; readonly powerState: PowerState }
  /** So many others of its request failed that too few of its gang can become ACTIVE. */
  | { readonly kind: 'gang_failed'; readonly fault: Fault }
  /** Its host is dead, and fenced; and its gang, which ends at a loss, can't reach its minimum without what is there. */
  | { readonly kind: 'given_up'; readonly host: string; readonly fault: Fault }
  /** An operator wants it built on another host: this one, its own, is dead, and fenced. */
  | { readonly kind: 'evacuate_requested'; readonly host: string }
  /** The client wants its host to give it up; or a host again. */
  | { readonly kind: 'shelve_requested' | 'unshelve_requested' }
  /** A client wants it resized, or an operator wants it moved. */
  | { readonly kind: 'move_requested'; readonly wanted: WantedMove }
  /** A scheduler has claimed its move together with others: it is to wait for its turn. */
  | { readonly kind: 'move_claimed'; readonly wanted: WantedMove; readonly target: ClaimedHost }
  /** A client, or an operator, says that the move stays as it is, or that it goes back. */
  | { readonly kind: 'confirm_requested' }
  | { readonly kind: 'revert_requested' }
  /** A member of its affinity group goes back to the host that both were to leave. */
  | { readonly kind: 'group_goes_back'; readonly host: string; readonly mateUuid: string }
  /** A host is claimed: by a scheduler, or an alternate by a conductor. */
  | { readonly kind: 'claimed'; readonly target: ClaimedHost }
  /** It is its turn: something has changed that could help it, by that revision of the store. */
  | { readonly kind: 'capacity_changed'; readonly revision: number }
  /** Another instance, whose record says so, is to have its place. */
  | PreemptedBy
  /** There is no host for it: no valid host, or no alternate left. */
  | NoHost
  /** There may be room on its alternates, but their allocation requests have expired, or the store does not know them. */
  | { readonly kind: 'alternates_expired' }
  /** The host's order queue does not take the build. */
  | { readonly kind: 'order_refused'; readonly reason: string }
  /** The attempt was concluded without the host's word: the host may still be building. */
  | { readonly kind: 'superseded'; readonly host: string; readonly attempt: number }
  /** An agent reports how an attempt, or the instance, ended. */
  | {
      readonly kind: 'reported';
      readonly host: string;
      readonly attempt: number;
      /** The order's; 0 when the agent does not know it. */
      readonly claimToken: number;
      readonly at: HostPosition;
      readonly outcome: BuildOutcome;
      /** For `destroyed`: the later claim by which the instance is there all the same, or 0 when it is not. */
      readonly keptClaimToken: number;
      readonly why: string;
      /** Refused unjudged, as the order was of an earlier epoch of the host than this report. */
      readonly isOutdated?: boolean;
      /** The message may have been worked on before. */
      readonly isRepeated: boolean;
    }
  /** Its host was ordered to stop or to start it, and says how it is now; with a fault when it could not be started. */
  | {
      readonly kind: 'power_reported';
      readonly host: string;
      readonly attempt: number;
      readonly powerState: PowerState;
      readonly fault: Fault | undefined;
      readonly at: HostPosition;
      /** The host's last position when the order was sent. */
      readonly restsOn: HostPosition;
      /** The order's; '' when it was not about a move. */
      readonly migrationUuid: string;
      /** Handed over by an instance stopped for a move. */
      readonly handover: Uint8Array;
    }
  /** A host's report has it running there, with a claim there or without one. */
  | {
      readonly kind: 'running';
      readonly host: string;
      readonly providerUuid: string;
      readonly at: HostPosition;
      readonly isClaimed: boolean;
      /** Its host was ordered by a later claim than its record has, which the store has forgotten. */
      readonly isByForgottenClaim: boolean;
      readonly instance: RunningInstance;
      readonly voucher: Voucher | undefined;
      /** It was seen before where its record did not have it: without a record now, that has come to its end. */
      readonly wasStray: boolean;
      /** The reporter, as the broker knows it; undefined when not known. */
      readonly reporter?: string | undefined;
    }
  /** A host's report does not have it, and it holds a claim there. */
  | {
      readonly kind: 'missing';
      readonly host: string;
      readonly at: HostPosition;
      /** The report's number: the next of the same epoch is one more. */
      readonly sequence: number;
      readonly hasOrdersWaiting: boolean;
    }
  /** An operator says that what runs there is not wanted. */
  | { readonly kind: 'disowned'; readonly host: string; readonly attempt: number; readonly claimToken: number }
  /** There is no host of that name to tell. */
  | { readonly kind: 'host_gone' }
  /** The host is silent; what it is told waits in its queue. */
  | { readonly kind: 'host_down' }
  /** The host is dead, and nothing that its agent says now is heard. */
  | { readonly kind: 'host_fenced' }
  /** Record and claim have not changed for the audit's grace period; nor has the host, if it is up. */
  | { readonly kind: 'audited'; readonly hostIs: 'up' | 'down' | 'unsettled' };

export interface NoHost {
  readonly kind: 'no_host';
  readonly fault: Fault;
  readonly passedOver: readonly Attempt[];
  /** Symbols of the reasons that refused all hosts; none when no capacity would help. */
  readonly waitsFor?: readonly string[];
  /** The preemption that would place it. */
  readonly preemption?: Preemption | undefined;
}

export interface PreemptedBy {
  readonly kind: 'preempted';
  readonly instanceUuid: string;
  readonly projectId: string;
  readonly priority: number;
  /** Its project takes back what it has lent, whatever the priority. */
  readonly reclaims?: boolean;
}

/** Where an instance was seen running. */
export type RunningAt = Extract<Observation, { kind: 'running' }>;

/** Input of `reconcile`: all that is known of one instance. */
export interface ReconcileInput {
  readonly uuid: string;
  /** Undefined when there is none. */
  readonly record: Instance | undefined;
  readonly holds: Holds;
  readonly observed: Observation;
  /** The call of a client that wishes it, until it is on record; '' for one that is never recognised again. */
  readonly callId?: string | undefined;
}

/** The claim is read only when the next step depends on it. */
export const UNREAD: Holds = { kind: 'unread' };

/** A look at a record that is there, by one who has not read its claim. */
export function lookAt(record: Instance, observed: Observation, callId?: string): ReconcileInput {
  return { uuid: record.uuid, record, holds: UNREAD, observed, callId };
}

/** The wish to evacuate it from the host that its record has. */
export function evacuationOf({ host = '' }: Instance): Observation {
  return { kind: 'evacuate_requested', host };
}
