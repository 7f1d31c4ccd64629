import { setMaxListeners } from 'node:events';
import type { Bus } from '#libs/bus/port';
import { answer, callMethod } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { type Identity, requireService, speaksForProject } from '#libs/contracts/identity';
import { listInstancesMethod } from '#libs/contracts/instance';
import { instanceView } from '#libs/contracts/instance-view';
import type { ListInstancesRequest, OperateInstanceRequest } from '#libs/contracts/messages';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { ownFilter } from '#libs/contracts/own-instances';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import { flavorCalls, requireFlavor } from '#libs/flavors/serve-flavors';
import type { Running } from '#libs/runtime/service';
import { busOfCell } from './bus-of-cell';
import type { TopConductor, TopConductorDeps } from './context';
import { hearCell } from './follow-cells';
import { KEEPER_LEASE, keepComparing, keepLookingAfter } from './look-after';
import { topConductorMetrics } from './metrics';
import { ownRecord, takeRequest } from './take-requests';

/** What it starts with: it opens the links, because each must hear its cell from the start. */
export type TopConductorParts = Omit<TopConductorDeps, 'links'> & {
  readonly cells: readonly string[];
  readonly openCell: (cell: string, signal: AbortSignal) => Promise<Bus>;
};

/**
 * Starts a conductor of the top: it takes build requests for the fleet, gives each to a cell, and follows what becomes of it. It
 * keeps nothing that is not in the store, so any number run. No cell waits for it: what it has handed over ends without it.
 */
export async function startTopConductor({ cells, openCell, ...deps }: TopConductorParts): Promise<Running> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const links = new Map<string, CellLink>();
  const t: TopConductor = { ...deps, links, measured: topConductorMetrics(deps.metrics), stopping: stop.signal };
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
    await t.bus.consume(BUILD_REQUESTS, (message) => takeRequest(t, message), { prefetch: t.config.prefetch }),
  ];
  const holder = t.random.uuid();
  const loops = [keepLookingAfter(t), keepComparing(t, holder)];
  return {
    readiness: () => (t.bus.isConnected() ? { ready: true } : { ready: false, reason: 'the broker is away' }),
    async close() {
      stop.abort();
      await Promise.all(subscriptions.map((subscription) => subscription.cancel()));
      await Promise.all(loops);
      await Promise.all([...links.values()].map((link) => link.close()));
      await t.leases.release(KEEPER_LEASE, holder).catch(() => {});
    },
  };
}

/** What the top knows of instances: as their cells said last. */
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

/** What a tenant may ask for; the rest is an operator's. */
const FOR_TENANTS: readonly OperateInstanceRequest['operation'][] = [
  'stop',
  'start',
  'shelve',
  'unshelve',
  'resize',
  'confirm',
  'revert',
];
const OPERATE_TIMEOUT_MS = 10_000;

/** Sends an operation on to the instance's cell, which sees it as an operator's: whose instance it is is checked here. */
async function operateInstance(t: TopConductor, request: OperateInstanceRequest, sender: Identity) {
  if (!FOR_TENANTS.includes(request.operation)) requireService(sender, operateInstanceMethod.request.type);
  const record = await ownRecord(t, request.instanceUuid, sender);
  if (request.version !== 0 && request.version !== record.version) {
    const message = `instance ${record.uuid} is version ${record.version}, not ${request.version}: look at it again`;
    throw new BerthError('failed_precondition', 'instance_changed', message);
  }
  const { cell } = record;
  if (cell === undefined) throw new BerthError('failed_precondition', 'instance_state', 'it has no cell yet');
  const resizeTo = request.resizeTo && (await withFlavor(t, request.resizeTo));
  const inCell = { ...request, resizeTo, version: cell.version };
  const options = { timeoutMs: OPERATE_TIMEOUT_MS, signal: t.stopping };
  const { instance } = await callMethod(busOfCell(t, cell.name), RPC_CONDUCTOR, operateInstanceMethod, inCell, options);
  return { instance: { ...instance, version: record.version, cell: cell.name } };
}

/** What a resize asks for, spelled out for the cell. @throws BerthError `not_found / no_such_flavor`. */
async function withFlavor(t: TopConductor, to: RequestSpec): Promise<RequestSpec> {
  if (to.flavor === undefined) return to;
  const { resources, extraSpecs } = await requireFlavor(t, to.flavor.name);
  return { ...to, flavor: undefined, resources, extraSpecs };
}
