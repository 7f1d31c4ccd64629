import type { Consumer } from '#libs/domain/consumer';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementStore } from '#libs/placement/store';

/** What is wrong with a fleet at rest; all zero when the store and the hosts tell the same story. */
export interface Audit {
  /** Inventories with more allocated than they have, and hosts that run more than they have, by resource class. */
  readonly overAllocated: number;
  /** Allocations of what does not run where they say, and instances that run without an allocation there. */
  readonly leaked: number;
}

/** What runs on one host, as its driver finds it. */
export interface HostTruth {
  readonly host: string;
  readonly running: readonly { readonly id: string; readonly resources: Resources }[];
}

/**
 * Compares the store, row by row, with what really runs. It sums allocations itself: the usages that the store keeps
 * are what is being checked. Every host must have reported.
 */
export async function auditFleet(store: PlacementStore, hosts: readonly HostTruth[]): Promise<Audit> {
  const { providers, consumers } = await readStore(store);
  const allocated = new Map<string, Resources>();
  for (const consumer of consumers) {
    for (const [uuid, resources] of Object.entries(consumer.allocations)) {
      allocated.set(uuid, addResources(allocated.get(uuid) ?? {}, resources));
    }
  }
  const byName = new Map(providers.map((provider) => [provider.name, provider]));
  let overAllocated = providers.reduce((count, p) => count + exceeded(p, allocated.get(p.uuid) ?? {}), 0);
  const running = new Set<string>();
  for (const { host, running: instances } of hosts) {
    const provider = byName.get(host);
    if (provider === undefined) continue;
    for (const { id } of instances) running.add(`${id} on ${provider.uuid}`);
    const used = instances.reduce<Resources>((sum, { resources }) => addResources(sum, resources), {});
    overAllocated += exceeded(provider, used);
  }
  return { overAllocated, leaked: differences(running, claims(consumers)) };
}

async function readStore(store: PlacementStore) {
  const providers = new Map<string, Provider>();
  const consumers = new Map<string, Consumer>();
  await store.snapshot((rows) => {
    for (const provider of rows.providers ?? []) providers.set(provider.uuid, provider);
    for (const consumer of rows.consumers ?? []) consumers.set(consumer.uuid, consumer);
  });
  return { providers: [...providers.values()], consumers: [...consumers.values()] };
}

/** Resource classes of which more is used than there is. */
function exceeded(provider: Provider, used: Resources): number {
  return Object.entries(used).filter(([name, amount]) => {
    const inventory = provider.inventories[name];
    return amount > (inventory === undefined ? 0 : capacityOf(inventory));
  }).length;
}

function claims(consumers: readonly Consumer[]): Set<string> {
  return new Set(
    consumers.flatMap(({ uuid, allocations }) => Object.keys(allocations).map((on) => `${uuid} on ${on}`)),
  );
}

/** How many are in one of the sets only. */
function differences(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>) => [...one].filter((x) => !other.has(x)).length;
  return only(a, b) + only(b, a);
}
