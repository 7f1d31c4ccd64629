import type { HostPosition, MissedReport } from '#libs/domain/host-position';
import type { Attempt, PowerState } from '#libs/domain/instance';
import type { Preemption } from '#libs/domain/queueing/admission';
import type { ClaimedHost, Fault, RunningAt, WantedMove } from './observation';

/** The next step. One executor does it (`steps/perform.ts`) and looks again with its outcome. */
export type Step =
  /** Nothing, and why. */
  | { readonly kind: 'none'; readonly because: NoneReason }
  /** Nothing before the deadline, unless something is observed. */
  | { readonly kind: 'wait'; readonly untilMs: number | undefined }
  /** Read the claim: the next step depends on it. */
  | { readonly kind: 'read_claim' }
  /** Ask a scheduler, for all instances of the request that need it. */
  | { readonly kind: 'select_destinations' }
  /** Record the attempt, send the order. */
  | { readonly kind: 'dispatch_build'; readonly target: ClaimedHost }
  /** Send the order again: agents know the attempt. */
  | { readonly kind: 'order_again'; readonly finding?: Finding }
  /** Record how the attempt ended; from then on its host's answers are late. */
  | { readonly kind: 'conclude_attempt'; readonly outcome: Attempt['outcome']; readonly why: string }
  /** Claim the next alternate with its allocation request. */
  | { readonly kind: 'claim_next_host' }
  /** On the word of its host, said then; undefined when it was the audit's. */
  | { readonly kind: 'record_active'; readonly at: HostPosition | undefined; readonly finding?: Finding }
  /** Its host is silent. */
  | { readonly kind: 'record_unknown' }
  /** Record that it is to be stopped, or started; then its host is told. */
  | { readonly kind: 'record_power_change'; readonly state: 'stopping' | 'starting' }
  /** It is built, as its host said then, and was stopped before it was built there: record that its host is to stop it. */
  | { readonly kind: 'record_built_to_stop'; readonly at: HostPosition; readonly finding?: Finding }
  /** Tell its host to stop it, or to start it. Not for the first time: only a host that is not silent. */
  | { readonly kind: 'set_power_state'; readonly powerState: PowerState; readonly isFirst: boolean }
  /** Its host keeps it and does not run it, as the host said then; why, if it could not be started. */
  | {
      readonly kind: 'record_stopped';
      readonly at: HostPosition | undefined;
      readonly fault?: Fault;
      readonly finding?: Finding;
    }
  /** Record that it is to be built on another host; then a scheduler is asked. */
  | { readonly kind: 'record_rebuilding' }
  /** No other host takes it: it stays where it was, and as it was. */
  | { readonly kind: 'record_not_rebuilt'; readonly fault: Fault }
  /** Record that it is to be moved; then a scheduler is asked. */
  | { readonly kind: 'record_move'; readonly wanted: WantedMove }
  /** Both sides are claimed, with those of other moves: record it; it waits for its turn. */
  | { readonly kind: 'record_move_claimed'; readonly wanted: WantedMove; readonly target: ClaimedHost }
  /** It is its turn: record that, then its source is told. */
  | { readonly kind: 'record_turn'; readonly confirmAfterMs: number }
  /** No host takes it: it stays as it was. */
  | { readonly kind: 'record_not_moved'; readonly fault: Fault }
  /** Both sides are claimed: record it, then its source is told. */
  | { readonly kind: 'record_handing_over'; readonly target: ClaimedHost }
  /** Tell its source to stop it and to say what its destination needs. */
  | { readonly kind: 'hand_over' }
  /** Record the attempt at its destination, order it there. */
  | { readonly kind: 'dispatch_arrival'; readonly handover: Uint8Array }
  /** Order its destination, or its source where it goes back: agents know the attempt. Again: only one that is not silent. */
  | { readonly kind: 'order_arrival'; readonly isAgain?: boolean; readonly finding?: Finding }
  /** Its move is over, and the host that it went back to was dead: order that host again to go on with it. */
  | { readonly kind: 'order_return' }
  /** The host refused an order to go on with it that was of an earlier epoch than this: record by which it is ordered again, and order it. */
  | { readonly kind: 'order_since'; readonly epoch: number }
  /** It is at its destination, running if it was so before. */
  | { readonly kind: 'record_arrived'; readonly at: HostPosition }
  /** See that the migration holds what its source keeps. */
  | { readonly kind: 'hold_source' }
  /** It stays where it arrived: record it, then its source is told to destroy what it keeps. */
  | { readonly kind: 'record_confirming' }
  /** Nothing is left at its source: release what the migration holds. Unconfirmed: the source did not say so. */
  | { readonly kind: 'finish_move'; readonly isConfirmed: boolean }
  /** The report of its source lacks the copy that it keeps: a doubt, which the very next settles. */
  | { readonly kind: 'record_source_missing'; readonly missingIn: MissedReport }
  /** It goes back: record it, then what its destination has is destroyed. Doubtful: not while its source is down and its destination is not. */
  | {
      readonly kind: 'record_reverting';
      readonly fault: Fault | undefined;
      readonly isDoubtful?: boolean;
      /** Its destination may run it: its source has to say first that it has it still. */
      readonly asksSource?: boolean;
    }
  /** Ask its source, which is to go on with it, whether it has it; one that did not say so in time is not gone back to. */
  | { readonly kind: 'ask_source'; readonly isOverdue: boolean }
  /** Its time to be reverted is over: confirm it, unless its host is down. */
  | { readonly kind: 'confirm_when_up' }
  /** Its source, which is down, was told to go on with it: the move is over. */
  | { readonly kind: 'record_return_awaited'; readonly why: string }
  /** Nothing of it is left at its destination. */
  | { readonly kind: 'record_returning' }
  /** Give its old claim back to it and the new one away, in one commit; then its source is told to go on with it. */
  | { readonly kind: 'give_back' }
  /** Its source has it again; stopped, where it was so before, or could not be started. */
  | {
      readonly kind: 'record_returned';
      readonly at: HostPosition;
      /** By which its source knows it. */
      readonly attempt: number;
      readonly isStopped: boolean;
      readonly why?: string;
    }
  /** Record that its host is to give it up; then the host is told. */
  | { readonly kind: 'record_shelving' }
  /** It is on no host: record that, then release the claim that it held; why, if no host took it. */
  | { readonly kind: 'record_shelved'; readonly fault?: Fault; readonly passedOver?: readonly Attempt[] }
  /** Record that it is to have a host again; then a scheduler is asked. */
  | { readonly kind: 'record_unshelving' }
  /** Its host did not do what it was ordered, because it had done something else since: record when, and tell it again. */
  | { readonly kind: 'record_position'; readonly at: HostPosition | undefined }
  /** Record which report it is missing in; the next one settles it. */
  | { readonly kind: 'record_missing'; readonly missingIn: MissedReport }
  /** Release the claim that is named, then record ERROR. */
  | {
      readonly kind: 'record_error';
      readonly fault: Fault;
      readonly claimToken: number | undefined;
      readonly passedOver: readonly Attempt[];
      readonly finding?: Finding;
    }
  /** Record that its gang has failed, and all its attempts as given up; then its host is told to destroy it. */
  | { readonly kind: 'record_undoing'; readonly fault: Fault }
  /** See what its failure means for the others of its gang. */
  | { readonly kind: 'settle_gang' }
  /** Why, when it is not its client's wish. */
  | { readonly kind: 'record_deleting'; readonly fault?: Fault }
  /** Record that it waits for capacity, and for what; and whose place it takes. */
  | {
      readonly kind: 'record_pending';
      readonly fault: Fault;
      readonly waitsFor: readonly string[];
      readonly preemption: Preemption | undefined;
    }
  /** Record that it is to make room for another; then its host is told to destroy it. */
  | { readonly kind: 'record_preempting'; readonly fault: Fault }
  /** Its host has lost it, and its gang restores it: record that it waits for a host, then release what it held there. */
  | { readonly kind: 'record_restoring'; readonly fault: Fault; readonly finding?: Finding }
  /** Its host is dead, and its gang can't go on without it: record it as lost, and all its attempts as given up. */
  | { readonly kind: 'record_given_up'; readonly fault: Fault }
  /** It is destroyed: release what is held, then record that it waits again. */
  | { readonly kind: 'record_requeued' }
  /** Tell a host to end what it has of the instance, up to an attempt and a claim (0: any); `reports`: and to say so. */
  | {
      readonly kind: 'destroy';
      readonly host: string;
      readonly attempt: number;
      readonly claimToken: number;
      readonly reports: boolean;
      /** Not for the first time: only a host that is not silent. */
      readonly isAgain?: boolean;
      readonly finding?: Finding;
    }
  /** A host that is to end what it has is dead, perhaps: fence it, and go on as though it had. */
  | { readonly kind: 'fence_host'; readonly host: string }
  /** Release what is held, then record DELETED, or ERROR when it was undone. Unconfirmed: no host said that it is destroyed. */
  | { readonly kind: 'close_record'; readonly isConfirmed: boolean }
  | { readonly kind: 'release'; readonly claimToken: number; readonly finding?: Finding }
  /** Record as ACTIVE what runs and has no record, or one from before it was built. */
  | { readonly kind: 'adopt'; readonly at: RunningAt; readonly finding: Finding }
  /**
   * Claim again what the record vouches for, whether it fits or not, and all of it: in place of the claim that is named, or
   * of none. A record of an older version vouches for nothing; then what its host reports that it uses.
   */
  | {
      readonly kind: 'claim_again';
      readonly replaces: number | undefined;
      readonly at: RunningAt | undefined;
      readonly finding: Finding;
    }
  /** Write the token of the claim that is held into the record. */
  | { readonly kind: 'correct_token'; readonly claimToken: number; readonly finding: Finding }
  /** Nothing is certain enough to act: it is kept, its capacity is counted, and an operator sees it. */
  | { readonly kind: 'doubt'; readonly finding: Doubt };

/** Doubts that are kept and shown (`berth_doubts_total`). */
export type Doubt =
  /** It runs there, and no record, nor a sealed allocation request, says that it should. */
  | 'unknown_instance'
  /** It runs where its record does not have it, and no attempt there was given up. */
  | 'stray'
  /** It is active and holds nothing, and nothing says what it held. */
  | 'claim_missing'
  /** It is active, and what it holds is on another host. */
  | 'claim_elsewhere'
  /** Its claim can not be made again: a provider is gone, or another consumer has its uuid. */
  | 'claim_refused';

/** Kinds of repairs, as counted (`berth_audit_mended_total`). */
export const FINDINGS = [
  'adopted',
  'claimed_again',
  'destroyed',
  'lost',
  'ordered_again',
  'orphan',
  'other_claim',
  'found',
] as const;
export type Finding = (typeof FINDINGS)[number];

export type NoneReason =
  | 'at rest'
  | 'no record'
  | 'late report'
  | 'older observation'
  | 'not on its host'
  | 'not to be preempted'
  | 'not shelved'
  | 'its store has lost writes'
  | 'somebody else goes on with it'
  | 'its order still waits'
  | 'its report will follow'
  | 'record and claim agree'
  | 'its record has it there'
  | 'its move holds it';
