import { setMaxListeners } from 'node:events';
import type { Bus } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { type Identity, speaksForProject } from '#libs/contracts/identity';
import { type ListInstancesRequest, listInstancesMethod } from '#libs/contracts/instance';
import { instanceView } from '#libs/contracts/instance-view';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { ownFilter } from '#libs/contracts/own-instances';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { flavorCalls } from '#libs/fleet-settings/serve-flavors';
import { senderLog } from '#libs/runtime/sender-log';
import type { Running } from '#libs/runtime/service';
import { hearCell } from './cells/follow-cells';
import type { TopConductor, TopConductorDeps } from './context';
import { KEEPER_LEASE, keepComparing, keepLookingAfter } from './look-after';
import { topConductorMetrics } from './metrics';
import { operateInstance } from './operate-instance';
import { refuseRequest, retryOptions, takeRequest } from './requests/take-requests';

/** Parts at the start: it opens the links itself, because each must receive its cell's events from the start. */
export type TopConductorParts = Omit<TopConductorDeps, 'links'> & {
  readonly cells: readonly string[];
  readonly openCell: (cell: string, signal: AbortSignal) => Promise<Bus>;
};

/**
 * Starts a conductor of the top: it takes build requests for the fleet, gives each to a cell, and follows its
 * instances. All its state is in the store, so any number run. No cell depends on it: handed-over requests complete
 * without it.
 */
export async function startTopConductor({ cells, openCell, ...deps }: TopConductorParts): Promise<Running> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const links = new Map<string, CellLink>();
  const refusals = senderLog(deps.log, deps.clock);
  const parts = { ...deps, links, refusals, measured: topConductorMetrics(deps.metrics), stopping: stop.signal };
  const t: TopConductor = { ...parts, retry: retryOptions(parts) };
  for (const cell of cells) {
    const open = (signal: AbortSignal) => openCell(cell, signal);
    links.set(cell, new CellLink(cell, open, deps, (bus) => hearCell(t, cell, bus)));
  }
  const subscriptions = [
    await t.bus.serve(RPC_CONDUCTOR, {
      ...answer(listInstancesMethod, (request, { identity }) => listInstances(t, request, identity)),
      ...answer(operateInstanceMethod, (request, { identity }) => operateInstance(t, request, identity)),
      ...flavorCalls(t),
    }),
    await t.bus.consume(BUILD_REQUESTS, (message) => takeRequest(t, message), {
      prefetch: t.config.prefetch,
      refused: (message, error) => refuseRequest(t, message, error),
    }),
  ];
  const holder = t.random.uuid();
  const loops = [keepLookingAfter(t), keepComparing(t, holder)];
  return {
    readiness: () => t.bus.readiness(),
    async close() {
      stop.abort();
      await Promise.all(subscriptions.map((subscription) => subscription.cancel()));
      await Promise.all(loops);
      await Promise.all([...links.values()].map((link) => link.close()));
      await t.leases.release(KEEPER_LEASE, holder).catch(() => {});
    },
  };
}

/** The top's view of instances: their cells' last reports. */
async function listInstances(t: TopConductor, request: ListInstancesRequest, sender: Identity) {
  const { instanceUuid, marker, limit } = request;
  if (instanceUuid !== '') {
    const found = await t.instances.get([instanceUuid]);
    return { instances: found.filter(({ projectId }) => speaksForProject(sender, projectId)).map(instanceView) };
  }
  return {
    instances: (await t.instances.list(ownFilter(request, sender), marker || undefined, limit)).map(instanceView),
  };
}
