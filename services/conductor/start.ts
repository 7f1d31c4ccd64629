import { setMaxListeners } from 'node:events';
import { drop, type IncomingMessage, type Settlement } from '#libs/bus/port';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { listInstancesMethod } from '#libs/contracts/instance';
import { answer, unknownType } from '#libs/contracts/rpc';
import { BUILD_REQUESTS, BUILD_RESULTS, RPC_CONDUCTOR } from '#libs/contracts/topology';
import { sleep } from '#libs/domain/clock';
import type { Running } from '#libs/runtime/service';
import { AUDIT_LEASE, audit } from './audit';
import { onBuildRequest } from './build';
import type { Conductor, ConductorDeps } from './context';
import { onHostDiscrepancy } from './discrepancy';
import { lookAfterDue } from './due';
import { listInstances } from './instances-rpc';
import { conductorMetrics } from './metrics';
import { onBuildReport } from './report';
import { onTerminate } from './terminate';

type Handler = (c: Conductor, message: IncomingMessage) => Promise<Settlement>;

const REQUESTS: Readonly<Record<string, Handler>> = {
  [buildRequestCodec.type]: onBuildRequest,
  [terminateInstanceCodec.type]: onTerminate,
};
const RESULTS: Readonly<Record<string, Handler>> = {
  [buildReportCodec.type]: onBuildReport,
  [hostDiscrepancyCodec.type]: onHostDiscrepancy,
};

/**
 * Starts a conductor: it takes each request from its arrival to an instance at rest. It keeps nothing that is not in the
 * store or in a message, so any number run at once and any of them may be killed at any time.
 */
export async function startConductor(deps: ConductorDeps): Promise<Running> {
  const stop = new AbortController();
  // Every call and every wait in hand listens to it.
  setMaxListeners(0, stop.signal);
  const c: Conductor = { ...deps, measured: conductorMetrics(deps.metrics), stopping: stop.signal };
  const { prefetch } = c.config;
  const take = (handlers: Readonly<Record<string, Handler>>) => async (message: IncomingMessage) => {
    const handle = handlers[message.type];
    return handle ? handle(c, message) : drop(unknownType(message));
  };
  const subscriptions = [
    await c.bus.serve(
      RPC_CONDUCTOR,
      answer(listInstancesMethod, (request) => listInstances(c, request)),
    ),
    // Results first: what they wait for frees hosts.
    await c.bus.consume(BUILD_RESULTS, take(RESULTS), { prefetch }),
    await c.bus.consume(BUILD_REQUESTS, take(REQUESTS), { prefetch }),
  ];
  const holder = c.random.uuid();
  const loops = [
    repeat(c, 'due', c.config.dueIntervalMs, () => lookAfterDue(c)),
    repeat(c, 'audit', c.config.auditIntervalMs, () => audit(c, holder)),
  ];
  return {
    readiness: () => (c.bus.isConnected() ? { ready: true } : { ready: false, reason: 'the broker is away' }),
    async close() {
      stop.abort();
      await Promise.all(subscriptions.map((subscription) => subscription.cancel()));
      await Promise.all(loops);
      // Whoever takes over need not wait for the lease to run out; if the store is away, it will.
      await c.leases.release(AUDIT_LEASE, holder).catch((err: unknown) => c.log.debug({ err }, 'lease not given back'));
    },
  };
}

/** Does a step again and again until the conductor stops, with jitter so that conductors spread; failures are logged. */
async function repeat(c: Conductor, name: string, intervalMs: number, step: () => Promise<unknown>): Promise<void> {
  while (!c.stopping.aborted) {
    await sleep(c.clock, intervalMs * (0.75 + c.random.next() / 2), c.stopping);
    if (c.stopping.aborted) return;
    await step().catch((err: unknown) =>
      c.log.warn({ err, step: name }, 'a periodic step did not succeed; it comes again'),
    );
  }
}
