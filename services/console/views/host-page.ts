import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { ReportedProvider } from '#libs/placement/port/rows';
import type { HostInstance, HostPage, ProviderRow } from '../api/host';
import type { Live } from '../live/live';
import { doubtRow } from './doubt-row';
import { heldOnHost } from './held-on-host';
import { specOf } from './spec-of';

const MOST_INSTANCES = 500;

/** Reads what the page of a host shows. @throws BerthError `not_found / no_such_host`. */
export async function readHostPage(live: Live, name: string): Promise<HostPage> {
  const { mirror, instances, placement, client, drains } = live.parts;
  const host = mirror.host(name);
  const row = live.fleet.rows.get(name);
  if (host === undefined || row === undefined) {
    throw new BerthError('not_found', 'no_such_host', `there is no host ${name}`);
  }
  const held = heldOnHost(mirror, host);
  const tree = mirror.tree(host.providerUuid);
  const [reported, there, holding, summary] = await Promise.all([
    placement.reported(tree.map(({ uuid }) => uuid)),
    instances.list({ host: name }, undefined, MOST_INSTANCES),
    instances.get([...held.keys()].slice(0, MOST_INSTANCES)),
    // Only schedulers know when a quarantine ends; without one the page omits it.
    host.failuresInARow === 0 ? [] : client.hosts(name).catch(() => []),
  ]);
  const here = there.filter(({ state }) => state !== 'deleted' && state !== 'error');
  const present = [...new Map([...here, ...holding].map((instance) => [instance.uuid, instance])).values()];
  return {
    host: row,
    cell: host.cell,
    serviceHost: host.serviceHost,
    disabledReason: host.disabledReason,
    externalInstances: host.externalInstances,
    lastFailure: host.lastFailure,
    quarantinedUntilMs: summary[0]?.quarantinedUntilMs ?? 0,
    providers: tree.map((provider) =>
      providerRow(
        mirror,
        provider,
        reported.find(({ uuid }) => uuid === provider.uuid),
      ),
    ),
    instances: present.map((instance) => instanceRow(instance, held.get(instance.uuid) ?? heldBy(mirror, instance))),
    instanceCount: Math.max(present.length, row.instances),
    attempts: live.builds.attemptsOn(name),
    history: live.history.ofHost(name),
    doubts: live.doubts.filter((doubt) => doubt.host === name).map(doubtRow),
    drain: drains.list().find((drain) => drain.host === name),
  };
}

function providerRow(view: PlacementView, provider: Provider, reported?: ReportedProvider): ProviderRow {
  const used = view.usage(provider.uuid);
  let depth = 0;
  for (let at = provider.parentUuid; at !== undefined; at = view.provider(at)?.parentUuid) depth += 1;
  return {
    uuid: provider.uuid,
    name: provider.name,
    depth,
    agentTraits: provider.traits.filter((trait) => reported?.traits.includes(trait)),
    otherTraits: provider.traits.filter((trait) => !reported?.traits.includes(trait)),
    aggregates: provider.aggregates.map((uuid) => view.aggregate(uuid)?.name ?? uuid),
    inventories: Object.entries(provider.inventories).map(([resourceClass, inventory]) => {
      const { total, allocationRatio } = inventory;
      const external = Math.min(inventory.reserved, reported?.externalUsage[resourceClass] ?? 0);
      return {
        resourceClass,
        used: used[resourceClass] ?? 0,
        capacity: capacityOf(inventory),
        total,
        reserved: inventory.reserved - external,
        external,
        allocationRatio,
      };
    }),
  };
}

function instanceRow(instance: Instance, resources: Resources): HostInstance {
  const { uuid, name, state, projectId, updatedAtMs } = instance;
  return { uuid, name, state, projectId, updatedAtMs, resources };
}

/** The resources that an instance holds; its requested ones while it holds nothing. */
export function heldBy(view: PlacementView, instance: Instance): Resources {
  const allocations = view.consumer(instance.uuid)?.allocations;
  if (allocations !== undefined) return Object.values(allocations).reduce<Resources>(addResources, {});
  return specOf(instance).resources;
}
