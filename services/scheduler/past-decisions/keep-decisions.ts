import { decisionCodec } from '#libs/contracts/diagnosis';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { KeptDecision, PlacementStore } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';
import type { PastDecision } from '../decision/select-destinations';

/** Decisions in one run of the store's script. */
const MAX_BATCH = 64;
/** Decisions that wait or are on their way to the store; beyond it, as while the store is away, they are not kept. */
const MOST_UNDER_WAY = 1_024;
/** How long a decision may wait for others. */
const COLLECT_MS = 50;

/** Keeps decisions in the store. */
export interface DecisionKeeper {
  keep(decision: PastDecision): void;
  /** Sends what waits; resolves when the store has all that was to be kept, or did not take it. */
  flush(): Promise<void>;
}

/**
 * Keeps what was decided in the store, so that any scheduler can tell it: the last few thousand, of all schedulers together.
 * Nobody waits for it, and one that is lost is only not explained.
 *
 * The naive way writes each after its claim. But a store that syncs its file before it answers then syncs twice for a select,
 * and the next claim waits for the second: of one select after the other that is a third of their time. So decisions are
 * collected for a moment, and written together. What it costs: a decision is known to other schedulers so much later.
 *
 * @param most  how many the store keeps
 */
export function decisionKeeper(
  placement: Pick<PlacementStore, 'keepDecisions'>,
  most: number,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): DecisionKeeper {
  let waiting: PastDecision[] = [];
  let cancelTimer = () => {};
  const underWay = new Set<Promise<void>>();
  let underWayCount = 0;
  return {
    keep(decision) {
      if (waiting.length + underWayCount >= MOST_UNDER_WAY) return;
      if (waiting.push(decision) === 1) cancelTimer = clock.after(COLLECT_MS, send);
      if (waiting.length === MAX_BATCH) send();
    },
    async flush() {
      send();
      await Promise.all(underWay);
    },
  };

  function send(): void {
    cancelTimer();
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    underWayCount += batch.length;
    const sending = write(batch).finally(() => {
      underWayCount -= batch.length;
      underWay.delete(sending);
    });
    underWay.add(sending);
  }

  async function write(batch: readonly PastDecision[]): Promise<void> {
    try {
      await placement.keepDecisions(batch.map(asKept), most);
    } catch (thrown) {
      const { code, reason, message } = BerthError.from(thrown);
      log.debug({ event: 'decision_not_kept', code, reason }, `decisions were not kept: ${message}`);
    }
  }
}

function asKept({ instanceUuids, decision }: PastDecision): KeptDecision {
  const id = `${decision.requestId}/${decision.decidedAtMs}`;
  return { id, instanceUuids, content: decisionCodec.encode(decision) };
}
