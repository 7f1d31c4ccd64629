import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { HostInstance, HostPage, ProviderRow } from '../api/host';
import type { Live } from '../live/live';

const MOST_INSTANCES = 500;

/** Reads what the page of a host shows. @throws BerthError `not_found / no_such_host`. */
export async function readHostPage(live: Live, name: string): Promise<HostPage> {
  const { mirror, instances, client, drains } = live.parts;
  const host = mirror.host(name);
  const row = live.fleet.rows.get(name);
  if (host === undefined || row === undefined) {
    throw new BerthError('not_found', 'no_such_host', `there is no host ${name}`);
  }
  const [there, summary] = await Promise.all([
    instances.list({ host: name }, undefined, MOST_INSTANCES),
    // When a quarantine ends is the schedulers' to say; the page does without when none is there.
    host.failuresInARow === 0 ? [] : client.hosts(name).catch(() => []),
  ]);
  const present = there.filter(({ state }) => state !== 'deleted' && state !== 'error');
  return {
    host: row,
    cell: host.cell,
    serviceHost: host.serviceHost,
    disabledReason: host.disabledReason,
    externalInstances: host.externalInstances,
    lastFailure: host.lastFailure,
    quarantinedUntilMs: summary[0]?.quarantinedUntilMs ?? 0,
    providers: mirror.tree(host.providerUuid).map((provider) => providerRow(mirror, provider)),
    instances: present.map((instance) => instanceRow(mirror, instance)),
    instanceCount: Math.max(present.length, row.instances),
    attempts: live.builds.attemptsOn(name),
    history: live.history.ofHost(name),
    doubts: live.doubts.filter((doubt) => doubt.host === name).map(({ evidence: _evidence, ...doubt }) => doubt),
    drain: drains.list().find((drain) => drain.host === name),
  };
}

function providerRow(view: PlacementView, provider: Provider): ProviderRow {
  const used = view.usage(provider.uuid);
  let depth = 0;
  for (let at = provider.parentUuid; at !== undefined; at = view.provider(at)?.parentUuid) depth += 1;
  return {
    uuid: provider.uuid,
    name: provider.name,
    depth,
    traits: provider.traits,
    aggregates: provider.aggregates.map((uuid) => view.aggregate(uuid)?.name ?? uuid),
    inventories: Object.entries(provider.inventories).map(([resourceClass, inventory]) => {
      const { total, reserved, allocationRatio } = inventory;
      return {
        resourceClass,
        used: used[resourceClass] ?? 0,
        capacity: capacityOf(inventory),
        total,
        reserved,
        allocationRatio,
      };
    }),
  };
}

function instanceRow(view: PlacementView, instance: Instance): HostInstance {
  const { uuid, name, state, projectId, updatedAtMs } = instance;
  return { uuid, name, state, projectId, updatedAtMs, resources: heldBy(view, instance) };
}

/** What an instance holds; what it asked for while it holds nothing. */
export function heldBy(view: PlacementView, { uuid, requestSpec }: Instance): Resources {
  const allocations = view.consumer(uuid)?.allocations;
  if (allocations !== undefined) return Object.values(allocations).reduce<Resources>(addResources, {});
  return requestSpec.length === 0 ? {} : requestSpecCodec.decode(requestSpec).resources;
}
