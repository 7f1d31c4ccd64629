import type { Diagnosis, HostVerdict } from '#libs/contracts/diagnosis';
import type { Resources } from '#libs/domain/inventory';
import type { DecisionOutcome } from '../scheduler/flight/entries';
import type { Regret } from './regret';

/** A decision with the hosts on which it was made. */
export interface Reconstructed {
  readonly outcome: DecisionOutcome;
  readonly diagnosis: Diagnosis | undefined;
  /** All hosts: those that pass first, by weight. */
  readonly hosts: readonly HostVerdict[];
}

/** A past decision, made again; and as it would have been. */
export interface PastExplained extends Reconstructed {
  readonly segment: string;
  /** The version of Berth that decided. */
  readonly version: string;
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
  readonly resources: Resources;
  readonly decidedAtMs: number;
  readonly revision: number;
  /** As it was recorded; the same as `outcome` if `isSame`. */
  readonly recorded: DecisionOutcome;
  readonly isSame: boolean;
  readonly instead: (Reconstructed & { readonly regret: Regret }) | undefined;
}
