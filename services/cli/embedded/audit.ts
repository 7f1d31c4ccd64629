import { type Clock, sleep } from '#libs/domain/clock';
import type { Consumer } from '#libs/domain/consumer';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementStore } from '#libs/placement/port/placement-store';

/** Differences in a fleet at rest; all zero when the store and the hosts agree. */
export interface Audit {
  /** Resource classes allocated above capacity, and those that a host's instances use above capacity. */
  readonly overAllocated: number;
  /** Allocations without a running instance on that host, and running instances without an allocation there. */
  readonly leaked: number;
}

/** The workloads on one host, as its driver lists them. */
export interface HostTruth {
  readonly host: string;
  readonly running: readonly { readonly id: string; readonly resources: Resources }[];
}

/**
 * Compares the store, row by row, with the running instances. It sums the allocations itself, because the store's
 * usages are themselves under audit. Every host must have reported.
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
  let overAllocated = providers.reduce((count, p) => count + countExceeded([p], allocated.get(p.uuid) ?? {}), 0);
  const running = new Set<string>();
  for (const { host, running: instances } of hosts) {
    const provider = byName.get(host);
    if (provider === undefined) continue;
    for (const { id } of instances) running.add(`${id} on ${provider.uuid}`);
    const used = instances.reduce<Resources>((sum, { resources }) => addResources(sum, resources), {});
    const tree = providers.filter(({ rootUuid }) => rootUuid === provider.uuid);
    overAllocated += countExceeded(tree, used);
  }
  const rootOf = new Map(providers.map(({ uuid, rootUuid }) => [uuid, rootUuid]));
  const claimed = consumers.flatMap(({ uuid, allocations }) =>
    Object.keys(allocations).map((on) => `${uuid} on ${rootOf.get(on) ?? on}`),
  );
  return { overAllocated, leaked: countDifferences(running, new Set(claimed)) };
}

/** Differences that remain after this are real. */
const AUDIT_TIMEOUT_MS = 15_000;
const AUDIT_INTERVAL_MS = 50;

/** Audits until there are no differences, since releases may still be in progress; at most until the time limit. */
export async function auditAtRest(clock: Clock, look: () => Promise<Audit>): Promise<Audit> {
  const untilMs = clock.elapsed() + AUDIT_TIMEOUT_MS;
  for (;;) {
    const audit = await look();
    if ((audit.leaked === 0 && audit.overAllocated === 0) || clock.elapsed() > untilMs) return audit;
    await sleep(clock, AUDIT_INTERVAL_MS);
  }
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

/** Number of resource classes used above the capacity of some providers together. */
function countExceeded(providers: readonly Provider[], used: Resources): number {
  const capacityIn = (name: string) =>
    providers.reduce((sum, { inventories: { [name]: own } }) => sum + (own === undefined ? 0 : capacityOf(own)), 0);
  return Object.entries(used).filter(([name, amount]) => amount > capacityIn(name)).length;
}

/** Number of elements in exactly one of the sets. */
function countDifferences(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>) => [...one].filter((x) => !other.has(x)).length;
  return only(a, b) + only(b, a);
}
