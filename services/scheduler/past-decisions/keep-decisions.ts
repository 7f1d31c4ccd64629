import { decisionCodec } from '#libs/contracts/diagnosis';
import { BerthError } from '#libs/domain/errors';
import type { KeptDecision, PlacementStore } from '#libs/placement/port/placement-store';
import { batchPerTick } from '#libs/runtime/batch-per-tick';
import type { Log } from '#libs/runtime/log';
import type { PastDecision } from '../decision/select-destinations';

/** Decisions in one run of the store's script. */
const MAX_BATCH = 64;
/** Decisions on their way to the store; beyond it, as while the store is away, they are not kept. */
const MOST_UNDER_WAY = 1_024;

/**
 * Keeps what was decided in the store, so that any scheduler can tell it: the last few thousand, of all schedulers together.
 * Nobody waits for it, those of one tick share a run, and one that is lost is only not explained.
 *
 * @param most  how many the store keeps
 */
export function decisionKeeper(
  placement: Pick<PlacementStore, 'keepDecisions'>,
  most: number,
  log: Log,
): (decision: PastDecision) => void {
  const keep = batchPerTick<KeptDecision, void>(
    MAX_BATCH,
    () => 1,
    async (batch) => {
      await placement.keepDecisions(batch, most);
      return batch.map(() => undefined);
    },
  );
  let underWay = 0;
  return ({ instanceUuids, decision }) => {
    if (underWay >= MOST_UNDER_WAY) return;
    underWay += 1;
    const id = `${decision.requestId}/${decision.decidedAtMs}`;
    keep({ id, instanceUuids, content: decisionCodec.encode(decision) })
      .catch((thrown: unknown) => {
        const { code, reason, message } = BerthError.from(thrown);
        log.debug({ event: 'decision_not_kept', code, reason }, `a decision was not kept: ${message}`);
      })
      .finally(() => {
        underWay -= 1;
      });
  };
}
