import type { Aggregate } from '#libs/domain/grouping/aggregate';
import { metadataOf } from '#libs/domain/grouping/aggregate';
import type { HostState } from './host-state';

/** All hosts of a fleet, by index, divided into the domains that aggregates put them into under one name. */
export interface HostDomains {
  readonly byDomain: ReadonlyMap<string, ReadonlySet<number>>;
  /** Hosts of which no aggregate says it. */
  readonly outside: ReadonlySet<number>;
}

/** The domain of a host in these aggregates; of several values the first in order of text. */
export function domainOf(aggregates: readonly Aggregate[], by: string): string | undefined {
  if (aggregates.length === 0) return undefined;
  return [...metadataOf(aggregates, by)].sort()[0];
}

/** The domain of a host in nested levels, the outermost first, with slashes between; undefined where it lacks one of them. */
export function pathOf(aggregates: readonly Aggregate[], levels: readonly string[]): string | undefined {
  const domains: string[] = [];
  for (const level of levels) {
    const domain = domainOf(aggregates, level);
    if (domain === undefined) return undefined;
    domains.push(levels.length > 1 ? domain.replaceAll('/', '%2F') : domain);
  }
  return domains.join('/');
}

/** Divides hosts into their domains, of one name or of nested ones. */
export function divide(hosts: Iterable<HostState>, levels: readonly string[]): HostDomains {
  const byDomain = new Map<string, Set<number>>();
  const outside = new Set<number>();
  for (const { index, aggregates } of hosts) {
    const domain = pathOf(aggregates, levels);
    if (domain === undefined) {
      outside.add(index);
      continue;
    }
    const inside = byDomain.get(domain) ?? new Set();
    byDomain.set(domain, inside.add(index));
  }
  return { byDomain, outside };
}

/** Several sets of hosts, none of which has a host of another, as one: it costs nothing to make, however many hosts there are. */
export class HostUnion implements HostSet {
  readonly size: number;

  constructor(private readonly sets: readonly ReadonlySet<number>[]) {
    this.size = sets.reduce((sum, { size }) => sum + size, 0);
  }

  has(index: number): boolean {
    return this.sets.some((set) => set.has(index));
  }

  *[Symbol.iterator](): Generator<number> {
    for (const set of this.sets) yield* set;
  }
}

/** Hosts by index, as much of a set as constraints need. */
export interface HostSet extends Iterable<number> {
  readonly size: number;
  has(index: number): boolean;
}
