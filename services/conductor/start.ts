import { setMaxListeners } from 'node:events';
import { drop, type IncomingMessage, type RefusalHandler, type Settlement } from '#libs/bus/port';
import { answer, unknownType } from '#libs/bus/typed-calls';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { listDoubtsMethod, settleDoubtMethod } from '#libs/contracts/doubts';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { deleteHostMethod } from '#libs/contracts/hosts';
import { listInstancesMethod } from '#libs/contracts/instance';
import { moveInstancesMethod } from '#libs/contracts/moves';
import { healAllocationMethod } from '#libs/contracts/nodes';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { powerReportCodec } from '#libs/contracts/power';
import { BUILD_REQUESTS, BUILD_RESULTS, HOST_LEASES, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { releaseClaimsMethod } from '#libs/contracts/release-claims';
import { sleep } from '#libs/domain/clock';
import { flavorCalls } from '#libs/fleet-settings/serve-flavors';
import type { Running } from '#libs/runtime/service';
import type { Conductor } from './conductor';
import type { ConductorDeps } from './context';
import { keepDraining, OUTBOX_LEASE } from './events/drain-outbox';
import { listDoubts } from './lists/list-doubts';
import { listInstances } from './lists/list-instances';
import { makeConductor } from './make-conductor';
import { healAllocation } from './nodes/heal-allocation';
import { renewLeases } from './nodes/renew-leases';
import { keepQueue, PENDING_LEASE } from './pending/keep-queue';
import { WANTED_LEASE, wantedTeller } from './pending/tell-wanted';
import { releaseClaims } from './release-claims';
import { AUDIT_LEASE, audit } from './triggers/audit';
import { onBuildReport } from './triggers/build-report';
import { onBuildRequest } from './triggers/build-request';
import { deleteHost } from './triggers/delete-host';
import { onHostDiscrepancy } from './triggers/host-discrepancy';
import { moveInstances } from './triggers/move-instances';
import { operateInstance } from './triggers/operate-instance';
import { sweepOverdue, unlessBehind } from './triggers/overdue-sweep';
import { onPowerReport } from './triggers/power-report';
import { REBUILD_LEASE, rebuildDead } from './triggers/rebuild/rebuild-dead';
import { settleDoubt } from './triggers/settle-doubt';
import { refuseRequest, settleMessage } from './triggers/settle-message';
import { onTerminateRequest } from './triggers/terminate-request';

type Handler = (c: Conductor, message: IncomingMessage, isRepeated: boolean) => Promise<Settlement | void>;

const REQUESTS: Readonly<Record<string, Handler>> = {
  [buildRequestCodec.type]: onBuildRequest,
  [terminateInstanceCodec.type]: onTerminateRequest,
};
const RESULTS: Readonly<Record<string, Handler>> = {
  [buildReportCodec.type]: onBuildReport,
  [hostDiscrepancyCodec.type]: onHostDiscrepancy,
  [powerReportCodec.type]: onPowerReport,
};

/**
 * Starts a conductor: it takes each request from its arrival to an instance at rest. It keeps nothing that is not in the
 * store or in a message, so any number run at once and any of them may be killed at any time.
 */
export async function startConductor(deps: ConductorDeps): Promise<Running> {
  const stop = new AbortController();
  // Every call and every wait in hand listens to it.
  setMaxListeners(0, stop.signal);
  const c = makeConductor(deps, stop.signal);
  const { prefetch } = c.config;
  const take = (handlers: Readonly<Record<string, Handler>>) => async (message: IncomingMessage) => {
    const handle = Object.hasOwn(handlers, message.type) ? handlers[message.type] : undefined;
    if (handle === undefined)
      return handlers === REQUESTS ? refused(message, unknownType(message)) : drop(unknownType(message));
    return settleMessage(c, message, (isRepeated) => handle(c, message, isRepeated));
  };
  const refused: RefusalHandler = (message, error) => refuseRequest(c, message, error);
  const subscriptions = [
    await c.bus.serve(RPC_CONDUCTOR, callsOf(c)),
    await c.bus.serve(
      HOST_LEASES,
      answer(acquireHostsMethod, async (request, { identity }) => {
        return { grants: await renewLeases(c, request, identity), atMs: 0 };
      }),
    ),
    // Results first: they release hosts.
    await c.bus.consume(BUILD_RESULTS, take(RESULTS), { prefetch }),
    await c.bus.consume(BUILD_REQUESTS, take(REQUESTS), { prefetch, refused }),
  ];
  const holder = c.random.uuid();
  const inTime = (work: () => Promise<void>) => unlessBehind(c, work);
  const loops = [
    repeat(
      c,
      'overdue sweep',
      c.config.dueIntervalMs,
      inTime(() => sweepOverdue(c)),
    ),
    repeat(
      c,
      'audit',
      c.config.auditIntervalMs,
      inTime(() => audit(c, holder)),
    ),
    repeat(c, 'rebuild of dead hosts', c.config.auditIntervalMs, () => rebuildDead(c, holder)),
    repeat(c, 'telling of wanted capacity', c.config.wantedIntervalMs, wantedTeller(c, holder)),
    keepDraining(c, holder),
    keepQueue(c, holder),
  ];
  return {
    readiness: () => c.bus.readiness(),
    async close() {
      stop.abort();
      await Promise.all(subscriptions.map((subscription) => subscription.cancel()));
      await Promise.all(loops);
      await c.events.idle();
      // The next holder need not wait for the lease to run out; if the store is away, it will.
      const leases = [AUDIT_LEASE, OUTBOX_LEASE, PENDING_LEASE, REBUILD_LEASE, WANTED_LEASE];
      await Promise.all(leases.map((name) => c.leases.release(name, holder))).catch((err: unknown) =>
        c.log.debug({ event: 'lease_not_released', err }, 'leases not released'),
      );
    },
  };
}

/** The calls that any conductor answers. */
function callsOf(c: Conductor) {
  return {
    ...answer(listInstancesMethod, (request, { identity }) => listInstances(c, request, identity)),
    ...answer(listDoubtsMethod, () => listDoubts(c)),
    ...answer(settleDoubtMethod, async (request) => {
      await settleDoubt(c, request);
      return {};
    }),
    ...answer(operateInstanceMethod, (request, { identity }) => operateInstance(c, request, identity)),
    ...answer(moveInstancesMethod, (request) => moveInstances(c, request)),
    ...answer(healAllocationMethod, (request) => healAllocation(c, request)),
    ...answer(deleteHostMethod, (request) => deleteHost(c, request)),
    ...answer(releaseClaimsMethod, (request) => releaseClaims(c, request)),
    ...flavorCalls(c),
  };
}

/** Runs a task periodically until the conductor stops, with jitter so that conductors spread; failures are logged. */
async function repeat(c: Conductor, name: string, intervalMs: number, task: () => Promise<unknown>): Promise<void> {
  while (!c.stopping.aborted) {
    await sleep(c.clock, intervalMs * (0.75 + c.random.next() / 2), c.stopping);
    if (c.stopping.aborted) return;
    await task().catch((err: unknown) =>
      c.log.warn({ event: 'periodic_task_failed', err, task: name }, `${name} failed, retrying at its next time`),
    );
  }
}
