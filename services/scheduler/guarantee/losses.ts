import { domainKeyOf, type Guarantee } from '#libs/domain/grouping/guarantee';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';

/** Hosts that would be lost together, and the names of their domains. */
export interface Loss {
  readonly domains: readonly string[];
  readonly hosts: ReadonlySet<number>;
}

/** Every loss that a guarantee declares; undefined when there are more than `most`. */
export function lossesOf(
  guarantee: Guarantee,
  fleet: Fleet,
  snapshot: FleetSnapshot,
  most: number,
): readonly Loss[] | undefined {
  const domains = domainsOf(guarantee, fleet, snapshot);
  const count = Math.min(guarantee.count, domains.length);
  if (count === 0) return [];
  const losses: Loss[] = [];
  const isComplete = combine(domains, count, (chosen) => {
    losses.push({
      domains: chosen.map(([name]) => name),
      hosts: chosen.length === 1 ? (chosen[0] as Domain)[1] : new Set(chosen.flatMap(([, hosts]) => [...hosts])),
    });
    return losses.length <= most;
  });
  return isComplete ? losses : undefined;
}

type Domain = readonly [name: string, hosts: ReadonlySet<number>];

/** Hosts that are lost together, by domain name; hosts in no domain are not lost. */
function domainsOf({ lose, aggregate }: Guarantee, fleet: Fleet, snapshot: FleetSnapshot): readonly Domain[] {
  const key = domainKeyOf(lose);
  const found = new Map<string, ReadonlySet<number>>();
  if (key === undefined) {
    snapshot.hosts.forEach((index, { host }) => found.set(host.name, new Set([index])));
  } else {
    for (const [name, hosts] of fleet.domains(key).byDomain) found.set(name, hosts);
  }
  const isIn = (index: number) =>
    snapshot.at(index)?.aggregates.some(({ name, uuid }) => name === aggregate || uuid === aggregate) ?? false;
  return [...found]
    .map(([name, hosts]): Domain => [name, aggregate === '' ? hosts : new Set([...hosts].filter(isIn))])
    .filter(([, hosts]) => hosts.size > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Visits each choice of `count` until a visit says no; answers whether all were visited. */
function combine<T>(from: readonly T[], count: number, visit: (chosen: readonly T[]) => boolean): boolean {
  const choose = (start: number, chosen: readonly T[]): boolean => {
    if (chosen.length === count) return visit(chosen);
    for (let n = start; n <= from.length - (count - chosen.length); n++) {
      if (!choose(n + 1, [...chosen, from[n] as T])) return false;
    }
    return true;
  };
  return choose(0, []);
}
