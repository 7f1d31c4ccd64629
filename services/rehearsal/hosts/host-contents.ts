import type { Consumer } from '#libs/domain/consumer';
import { attemptNumber, type Instance, type InstanceState } from '#libs/domain/instance';
import { addResources, type Inventories, type Resources } from '#libs/domain/inventory';
import type { StoredProvider } from '#libs/placement/commands/tables';
import { isNestedUuidOf } from '#libs/placement/port/nested-provider';
import { groupBy } from '#libs/runtime/group-by';
import type { HostCapacity, NestedCapacity } from '../../compute-agent/drivers/driver';
import type { TrackedInstance } from '../../compute-agent/host/tracked-instance';
import type { FleetSnapshot } from '../fork/fleet-snapshot';
import { rowsOf } from '../fork/rows-of';

/** The state that a host's agent would find on it, as far as the store knows. */
export interface HostContents {
  readonly name: string;
  readonly isUp: boolean;
  readonly capacity: HostCapacity;
  /** Resources that others than Berth use. */
  readonly external: Resources;
  readonly instances: readonly TrackedInstance[];
}

/** Every host of a snapshot. */
export function contentsOfHosts({ placement, instances }: FleetSnapshot): ReadonlyMap<string, HostContents> {
  const providers = rowsOf(placement, 'provider');
  const trees = rowsOf(placement, 'tree');
  const consumers = rowsOf(placement, 'consumer');
  const byHost = groupBy(instances.filter(isThere), ({ host }) => host ?? '');
  const kept = groupBy(
    instances.flatMap((one) => keptAtSource(one, consumers)),
    ({ host }) => host,
  );
  return new Map(
    Array.from(rowsOf(placement, 'host'), ([name, { providerUuid, up, capabilities }]) => {
      const root = providers.get(providerUuid);
      const members = trees.get(providerUuid)?.members ?? [];
      const nested = members.flatMap((uuid) => (isNestedUuidOf(providerUuid, uuid) ? (providers.get(uuid) ?? []) : []));
      const said = [root, ...nested].filter((one) => one !== undefined);
      const tracked = (byHost.get(name) ?? []).map((one) => trackedInstance(one, consumers.get(one.uuid)));
      const contents: HostContents = {
        name,
        isUp: up,
        capacity: {
          inventories: root ? inventoriesOf(root) : {},
          traits: root ? (root.reported?.traits ?? root.traits) : [],
          nested: nested.map((one) => nestedCapacity(name, one, providers)),
          capabilities,
        },
        external: said.map(externalOf).reduce(addResources, {}),
        instances: [...tracked, ...(kept.get(name) ?? []).map(({ instance }) => instance)],
      };
      return [name, contents];
    }),
  );
}

/** A provider's inventories as its agent reported them: without external use and operators' overrides. */
function inventoriesOf({ inventories, reported }: StoredProvider): Inventories {
  if (reported === undefined) return inventories;
  const own = Object.entries(reported.inventories).flatMap(([name, [reserved, allocationRatio]]) => {
    const inventory = inventories[name];
    return inventory ? [[name, { ...inventory, reserved, allocationRatio }] as const] : [];
  });
  return Object.fromEntries(own);
}

function externalOf({ reported }: StoredProvider): Resources {
  const used = Object.entries(reported?.inventories ?? {}).map(([name, [, , amount]]) => [name, amount] as const);
  return Object.fromEntries(used.filter(([, amount]) => amount > 0));
}

function nestedCapacity(
  host: string,
  provider: StoredProvider,
  providers: ReadonlyMap<string, StoredProvider>,
): NestedCapacity {
  const prefix = `${host}:`;
  const nameOf = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : '');
  const parent = providers.get(provider.parentUuid ?? '');
  return {
    name: nameOf(provider.name),
    parent: nameOf(parent?.name ?? ''),
    inventories: inventoriesOf(provider),
    traits: provider.reported?.traits ?? provider.traits,
  };
}

/** States in which nothing of an instance is on a host. */
const NOWHERE: readonly InstanceState[] = ['scheduling', 'pending', 'shelved_offloaded', 'error', 'deleted'];

function isThere({ state, host }: Instance): boolean {
  return host !== undefined && !NOWHERE.includes(state);
}

/** Orders and builds under way count as done: the store does not know how far they are. */
function trackedInstance(instance: Instance, consumer: Consumer | undefined): TrackedInstance {
  const allocations = consumer?.allocations ?? {};
  const { uuid, requestId, name, projectId, userId, state } = instance;
  return {
    uuid,
    requestId,
    name,
    projectId,
    userId,
    groupId: consumer?.groupId ?? '',
    resources: Object.values(allocations).reduce(addResources, {}),
    allocations,
    attempt: attemptNumber(instance),
    claimToken: instance.claimToken ?? consumer?.claimToken ?? 0,
    allocationRequest: Buffer.from(instance.allocationRequest).toString('base64'),
    state: state === 'stopped' || instance.formerState === 'stopped' ? 'stopped' : 'running',
  };
}

/** The copy that a source keeps of an instance that has moved, until the move is confirmed. */
function keptAtSource(
  instance: Instance,
  consumers: ReadonlyMap<string, Consumer>,
): readonly { readonly host: string; readonly instance: TrackedInstance }[] {
  const { migration, host } = instance;
  if (migration === undefined || instance.state !== 'verify_resize' || migration.source.host === host) return [];
  const { source, claimToken } = migration;
  const tracked = trackedInstance(instance, consumers.get(migration.uuid));
  const copy: TrackedInstance = {
    ...tracked,
    attempt: source.attempt,
    claimToken: claimToken ?? source.claimToken,
    allocationRequest: source.allocationRequest,
    state: 'stopped',
    handedOver: true,
  };
  return [{ host: source.host, instance: copy }];
}
