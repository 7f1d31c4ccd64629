import { lru } from '#libs/runtime/lru';
import { senderLog } from '#libs/runtime/sender-log';
import type { Conductor } from './conductor';
import type { ConductorDeps } from './context';
import { eventPublisher } from './events/publish-events';
import { Hearing } from './losses/hearing';
import { conductorMetrics } from './metrics';
import { KnownShares } from './pending/known-shares';
import { PendingQueue } from './pending/pending-queue';
import { QuotaJudge } from './triggers/admission/within-quota';
import { retryOptions } from './triggers/settle-message';

const MAX_ORDERED_FOR = 100_000;

/** A conductor before it takes messages; its calls and waits end when `stopping` aborts. */
export function makeConductor(deps: ConductorDeps, stopping: AbortSignal): Conductor {
  const running = {
    ...deps,
    events: eventPublisher(deps.bus, deps.instances, deps.log),
    pending: new PendingQueue(deps.instances, deps.clock),
    shares: new KnownShares(),
    quotas: new QuotaJudge(),
    hearing: new Hearing(),
    orderedFor: lru<string, number>(MAX_ORDERED_FOR),
    measured: conductorMetrics(deps.metrics),
    refusals: senderLog(deps.log, deps.clock),
    stopping,
  };
  return { ...running, retry: retryOptions(running) };
}
