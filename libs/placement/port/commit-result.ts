import type { ConsumerOwner } from '../../domain/consumer';
import type { CapacityRefusal } from '../../domain/inventory';
import type { QuotaExcess } from '../../domain/quotas/quota';
import type { Change, Revised, Usage } from './rows';

/** Outcome of a commit: made, without effect, or refused and why. */
export type CommitResult =
  /** Done. `change` has the rows; `claimToken` is the commit's own, and that of every consumer whose claim it wrote. */
  | { readonly kind: 'committed'; readonly change: Change; readonly claimToken: number }
  /** The command changes nothing (released already, applied already): the state is as it asks. */
  | { readonly kind: 'unchanged' }
  /** The amount does not fit. `usage` is the provider's row now, for the mirror. */
  | {
      readonly kind: 'capacity';
      readonly providerUuid: string;
      readonly resourceClass: string;
      readonly refusal: CapacityRefusal;
      readonly usage: Revised<Usage>;
    }
  /** It would fit, but into what is kept there for an instance of the same or a higher priority, for which others make room. */
  | { readonly kind: 'nominated'; readonly providerUuid: string; readonly resourceClass: string }
  /** It would fit, but into what a reservation keeps. */
  | {
      readonly kind: 'reserved';
      readonly providerUuid: string;
      readonly resourceClass: string;
    }
  /** A generation or claim token is not the present one; undefined when there is no such thing. */
  | {
      readonly kind: 'generation';
      /** For a quota, `uuid` is its project and `present` its version. */
      readonly subject: 'provider' | 'consumer' | 'quota';
      readonly uuid: string;
      readonly present: number | undefined;
    }
  /** Somebody else looks after the consumer. */
  | { readonly kind: 'owner'; readonly uuid: string; readonly owner: ConsumerOwner }
  /** Limits that a project, or its cohort, would exceed. */
  | { readonly kind: 'quota'; readonly excess: readonly QuotaExcess[] }
  /** The group's policy forbids the host. */
  | { readonly kind: 'group'; readonly groupId: string; readonly host: string }
  /** `key` is a uuid or a name; for an inventory that a claim misses, `<provider uuid> <class>`. */
  | { readonly kind: 'not_found'; readonly subject: Subject; readonly key: string }
  | { readonly kind: 'exists'; readonly subject: Subject; readonly key: string }
  /**
   * In use, so it can't go: allocations on an inventory or provider, children of a provider, providers of a class or
   * trait, hosts of an aggregate; or can't go to another zone: a host with allocations. With subject `parent`: the new parent is the provider itself or below it.
   */
  | {
      readonly kind: 'in_use';
      readonly subject: Subject;
      readonly key: string;
      readonly by: 'allocations' | 'children' | 'inventories' | 'providers' | 'hosts';
      /** Provider of a host that is to be deleted; the key is its name. */
      readonly uuid?: string;
    }
  /** The host is in this zone already, by another aggregate. */
  | { readonly kind: 'zone'; readonly host: string; readonly zone: string }
  /** There are as many as there may be. */
  | {
      readonly kind: 'full';
      readonly subject: Subject | 'quota' | 'cohort' | 'lease' | 'taint';
      readonly most: number;
    }
  /** A report older than one already applied; a claim under a turn to admit that is over. */
  | { readonly kind: 'stale'; readonly present: number };

export type Subject =
  | 'provider'
  | 'inventory'
  | 'host'
  | 'consumer'
  | 'resource_class'
  | 'trait'
  | 'parent'
  | 'aggregate'
  | 'server_group'
  | 'guarantee'
  | 'admission_turn'
  | 'reservation';

/**
 * Outcome of a report. `exists`: the host's name belongs to another provider, or the provider to another host; `full`: its
 * agent brought as many names of classes and traits as it may.
 */
export type ReportResult =
  | Extract<CommitResult, { kind: 'committed' | 'unchanged' | 'stale' | 'exists' | 'full' }>
  /** The report is of another epoch than the host's present one; undefined when it has none (a wiped store). */
  | { readonly kind: 'epoch'; readonly present: number | undefined };

/** Why nothing was committed. */
export type RefusedCommit = Exclude<CommitResult, { kind: 'committed' }>;
