import type { Resources } from '../inventory';

/** An instance that waits, as far as hosts matter to it. */
export interface WaitingInstance {
  readonly resources: Resources;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  /** Symbols of the reasons that refused all hosts in its last try; none before that. */
  readonly waitsFor: readonly string[];
}

/** Capacity and traits of an empty host of one kind, and the name of such a host. */
export interface HostShape {
  readonly like: string;
  readonly capacity: Resources;
  readonly traits: readonly string[];
}

/** So many more hosts of a shape would serve so many of the instances that wait. */
export interface CapacityWanted {
  readonly shape: HostShape;
  readonly hosts: number;
  readonly serves: number;
}

/** Symbols of reasons that more hosts remove. */
const FOR_HOSTS = ['capacity_', 'no_inventory_', 'max_unit_', 'no_hosts'];

/**
 * Hosts that are wanted, for each shape alone: instances first fit, the largest share of a host first, into empty ones
 * (first-fit decreasing, which takes at most 11/9 of the fewest and one more; Johnson 1973). Who serves most comes first, then
 * with fewest hosts. Zones, groups and quotas are not looked at: it is an estimate for who adds hosts.
 */
export function capacityWanted(
  waiting: readonly WaitingInstance[],
  shapes: readonly HostShape[],
): readonly CapacityWanted[] {
  const forHosts = waiting.filter(({ waitsFor }) => waitsFor.length === 0 || waitsFor.some(isForHosts));
  return shapes
    .map((shape) => wantedOf(forHosts, shape))
    .filter(({ serves }) => serves > 0)
    .toSorted((a, b) => b.serves - a.serves || a.hosts - b.hosts || (a.shape.like < b.shape.like ? -1 : 1));
}

/** Each shape once, by a host that has it. */
export function shapesOf(hosts: readonly HostShape[]): readonly HostShape[] {
  const byKey = new Map<string, HostShape>();
  for (const host of hosts) {
    const key = keyOf(host);
    const known = byKey.get(key);
    if (known === undefined || host.like < known.like) byKey.set(key, host);
  }
  return [...byKey.values()];
}

/** The same for hosts that have the same, in whatever order. */
function keyOf({ capacity, traits }: HostShape): string {
  const amounts = Object.entries(capacity).map(([name, amount]) => `${name}=${amount}`);
  return JSON.stringify([amounts.toSorted(), traits.toSorted()]);
}

function isForHosts(symbol: string): boolean {
  return FOR_HOSTS.some((prefix) => symbol.startsWith(prefix));
}

function wantedOf(waiting: readonly WaitingInstance[], shape: HostShape): CapacityWanted {
  const fitting = waiting
    .filter((one) => isMet(one, shape))
    .map(({ resources }) => ({ resources, share: shareOf(resources, shape.capacity) }))
    .filter(({ share }) => share <= 1)
    .toSorted((a, b) => b.share - a.share);
  const free: Record<string, number>[] = [];
  for (const { resources } of fitting) {
    const asked = Object.entries(resources);
    let host = free.find((left) => asked.every(([name, amount]) => amount <= (left[name] ?? 0)));
    if (host === undefined) {
      host = { ...shape.capacity };
      free.push(host);
    }
    for (const [name, amount] of asked) host[name] = (host[name] ?? 0) - amount;
  }
  return { shape, hosts: free.length, serves: fitting.length };
}

function isMet({ requiredTraits, forbiddenTraits }: WaitingInstance, { traits }: HostShape): boolean {
  return requiredTraits.every((one) => traits.includes(one)) && !forbiddenTraits.some((one) => traits.includes(one));
}

/** The largest part of a host that an instance takes of any class; above 1 it does not fit. */
function shareOf(resources: Resources, capacity: Resources): number {
  return Math.max(0, ...Object.entries(resources).map(([name, amount]) => amount / (capacity[name] ?? 0)));
}
