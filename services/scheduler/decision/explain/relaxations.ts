import type { HostsRefused, Relaxation } from '#libs/contracts/diagnosis';
import type { Resources } from '#libs/domain/inventory';
import { counted } from '#libs/runtime/counted';
import type { Reason } from '../../filters/filter';
import type { HostState } from '../../fleet/host-state';
import { agreeing } from '../diagnose';

/** A host and all that is against it. */
export interface RefusedHost {
  readonly host: HostState;
  /** At least one. */
  readonly reasons: readonly Reason[];
  /** By how much it falls short of what is asked, by class; of classes that it has at all. */
  readonly lacks: Resources;
}

/** Changes to the request that would make it fit. */
export interface Relaxations {
  readonly relaxations: readonly Relaxation[];
  /** Symbols: each host is refused for one of these at least, and none of them could be left out. */
  readonly conflict: readonly string[];
}

const MAX_RELAXATIONS = 5;

/**
 * The smallest sets of reasons without which some host would fit, fewest reasons first and then most hosts; and a minimal
 * set of reasons that are in conflict: together they refuse every host.
 *
 * Each host says which reasons are against it; hosts with the same reasons are one pattern. A relaxation is a pattern that
 * contains no smaller one. The conflict is a minimal hitting set of the patterns (the duality of minimal correction sets and
 * minimal unsatisfiable ones; Reiter, "A theory of diagnosis from first principles").
 */
export function relaxationsOf(refused: Iterable<RefusedHost>): Relaxations {
  const patterns = patternsOf(refused);
  return { relaxations: smallest(patterns).map(asRelaxation), conflict: conflictOf(patterns) };
}

/**
 * The conflict as something to check: each host under one reason of it that refuses the host, and for each reason a host
 * that it alone refuses.
 *
 * @param conflict  minimal
 */
export function certificateOf(refused: readonly RefusedHost[], conflict: readonly string[]): readonly HostsRefused[] {
  const ofConflict = refused.map(({ host, reasons }) => {
    const symbols = new Set(reasons.map(({ symbol }) => symbol));
    return { name: host.host.name, by: conflict.filter((symbol) => symbols.has(symbol)) };
  });
  return conflict.map((reason) => ({
    reason,
    hosts: ofConflict.filter(({ by: [first] }) => first === reason).map(({ name }) => name),
    refusedAlone: ofConflict.find(({ by }) => by.length === 1 && by[0] === reason)?.name ?? '',
  }));
}

interface Pattern {
  readonly symbols: ReadonlySet<string>;
  readonly reasons: readonly Reason[];
  hosts: number;
  /** The host that lacks least. */
  nearest: RefusedHost;
}

function patternsOf(refused: Iterable<RefusedHost>): readonly Pattern[] {
  const patterns = new Map<string, Pattern>();
  for (const one of refused) {
    const names = one.reasons.map(({ symbol }) => symbol);
    const key = names.join(' ');
    const known = patterns.get(key);
    if (!known) patterns.set(key, { symbols: new Set(names), reasons: one.reasons, hosts: 1, nearest: one });
    else {
      known.hosts += 1;
      if (lacking(one) < lacking(known.nearest)) known.nearest = one;
    }
  }
  return [...patterns.values()];
}

/** A host's lack, as the sum over classes of lack divided by total. */
function lacking({ host, lacks }: RefusedHost): number {
  return Object.entries(lacks).reduce((sum, [name, amount]) => sum + amount / (host.inventories[name]?.total || 1), 0);
}

function smallest(patterns: readonly Pattern[]): readonly Pattern[] {
  const found: Pattern[] = [];
  for (const pattern of patterns.toSorted((a, b) => a.symbols.size - b.symbols.size || b.hosts - a.hosts)) {
    if (found.length === MAX_RELAXATIONS) break;
    if (!found.some((smaller) => isSubset(smaller.symbols, pattern.symbols))) found.push(pattern);
  }
  return found;
}

function asRelaxation({ reasons, hosts, nearest }: Pattern): Relaxation {
  const phrases = reasons.map(({ phrase }) => agreeing(hosts, phrase)).join(' and ');
  const less = Object.entries(nearest.lacks).map(([name, amount]) => `${amount} ${name}`);
  const name = nearest.host.host.name;
  const gap = less.length > 0 ? `; the smallest gap: ${less.join(' and ')}, on ${name}` : '';
  return {
    reasons: reasons.map(({ symbol }) => symbol),
    hosts,
    nearestHost: name,
    less: nearest.lacks,
    sentence: `${counted(hosts, 'host')} would fit, but ${hosts === 1 ? 'it' : 'they'} ${phrases}${gap}`,
  };
}

/** Takes the reason that is against most hosts first, then leaves out what is not needed. */
function conflictOf(patterns: readonly Pattern[]): readonly string[] {
  const chosen: string[] = [];
  let left = patterns;
  while (left.length > 0) {
    const counts = new Map<string, number>();
    for (const { symbols, hosts } of left) {
      for (const symbol of symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + hosts);
    }
    const [most] = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best));
    chosen.push(most);
    left = left.filter(({ symbols }) => !symbols.has(most));
  }
  for (const one of chosen.toReversed()) {
    const others = chosen.filter((other) => other !== one);
    if (patterns.every(({ symbols }) => others.some((other) => symbols.has(other))))
      chosen.splice(chosen.indexOf(one), 1);
  }
  return chosen;
}

function isSubset(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const one of a) if (!b.has(one)) return false;
  return true;
}
