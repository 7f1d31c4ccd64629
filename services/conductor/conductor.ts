import type { LRUCache } from 'lru-cache';
import type { ConductorContext } from './context';
import type { Hearing } from './losses/hearing';
import type { KnownShares } from './pending/known-shares';
import type { PendingQueue } from './pending/pending-queue';
import type { QuotaJudge } from './triggers/admission/within-quota';

/** A running conductor, with its knowledge of more than one instance. */
export interface Conductor extends ConductorContext {
  /** Instances that wait for capacity, as this conductor read them last. */
  readonly pending: PendingQueue;
  /** Present and recent use of projects, for the order of those who wait. */
  readonly shares: KnownShares;
  readonly quotas: QuotaJudge;
  /** Hosts that were heard since the store went back. */
  readonly hearing: Hearing;
  /** Time of the last order for a client's message, by instance and version of its record. */
  readonly orderedFor: LRUCache<string, number>;
}
