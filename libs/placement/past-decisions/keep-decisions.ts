import { getOrMake, lru } from '#libs/runtime/lru';
import { type Decision, decisionCodec } from '../../contracts/diagnosis';
import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { projectShare } from '../../domain/quotas/project-share';
import type { Log } from '../../runtime/log';
import type { KeptDecision, PlacementStore } from '../port/placement-store';

/** Decisions in one run of the store's script. */
const MAX_BATCH = 64;
/** Decisions that wait or are on their way to the store; beyond it, as while the store is away, they are not kept. */
const MOST_UNDER_WAY = 1_024;
/** Time for which a decision waits for others. */
const COLLECT_MS = 50;
/** So far back goes at least what one scheduler keeps, by keeping no more of what found its hosts; of a short burst it keeps all. */
const REACH_SECONDS = 60;
/** Share of all kept decisions that one burst may fill. */
const BURST_SHARE = 0.2;
/** Projects whose share is counted. */
const MAX_PROJECTS = 1_000;

/** A decision as it is kept, and for whom. */
export interface PastDecision {
  readonly instanceUuids: readonly string[];
  readonly decision: Decision;
}

/** Keeps decisions in the store. */
export interface DecisionKeeper {
  /** True if one more successful decision is kept now. */
  readonly hasRoom: () => boolean;
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
 * To note what a decision was made on takes a tenth of a scheduler's time, and at some thousand a second what is kept would reach back a
 * few seconds only. So of those that found their hosts, no more are kept than let it reach back a minute, or come in one burst; those
 * that found none, which people ask about, are kept, of each project its share of what is kept in a minute.
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
  const room = bucket(Math.max(MAX_BATCH, most * BURST_SHARE), most / REACH_SECONDS, clock);
  const share = projectShare(most);
  const ofProjects = lru<string, Bucket>(MAX_PROJECTS);
  const newRoom = () => bucket(Math.max(MAX_BATCH, share), share / REACH_SECONDS, clock);
  return {
    hasRoom: () => room.left() >= 1,

    keep(decision) {
      const { projectId, selected } = decision.decision;
      const its = Object.keys(selected).length > 0 ? room : getOrMake(ofProjects, projectId, newRoom);
      if (its !== room && its.left() < 1) return;
      its.take();
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

interface Bucket {
  left(): number;
  take(): void;
}

/** A token bucket: so many at most, and so many more each second. */
function bucket(size: number, perSecond: number, clock: Clock): Bucket {
  let tokens = size;
  let filledAtMs = clock.elapsed();
  const left = () => {
    const nowMs = clock.elapsed();
    tokens = Math.min(size, tokens + ((nowMs - filledAtMs) / 1_000) * perSecond);
    filledAtMs = nowMs;
    return tokens;
  };
  return { left, take: () => void (tokens -= 1) };
}

function asKept({ instanceUuids, decision }: PastDecision): KeptDecision {
  const { requestId, decidedAtMs } = decision;
  const foundBy = [...new Set([...instanceUuids, requestId])];
  return { id: `${requestId}/${decidedAtMs}`, foundBy, content: decisionCodec.encode(decision) };
}
