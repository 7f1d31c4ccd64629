import TinyQueue from 'tinyqueue';
import type { HostState } from '../decision/host-state';
import { metadataOf } from '../filters/aggregates';
import type { FilterContext } from '../filters/filter';

/** One of Nova's weighers: a raw number for a host, more is better. */
export interface Weigher {
  /** Its class in Nova: `RAMWeigher`. */
  readonly name: string;
  /** Its multiplier in nova.conf and in the metadata of aggregates: `ram_weight_multiplier`. */
  readonly multiplier: string;
  /** The least that the raw number is scaled from; undefined for the least of all hosts. */
  readonly least?: number;
  /** True where the multiplier counts against a host. */
  readonly isNegated?: true;
  prepare(context: FilterContext): (host: HostState) => number;
}

/** A weigher with its configured multiplier. */
export interface Weighing {
  readonly weigher: Weigher;
  readonly multiplier: number;
}

/**
 * The weight of each host. A weigher's raw numbers are scaled to 0..1 over these hosts and multiplied, as Nova does; the metadata of a
 * host's aggregates may have another multiplier, of several the least.
 *
 * @param parts  filled with what each weigher that tells hosts apart adds to them, by its name
 */
export function weighHosts(
  hosts: readonly HostState[],
  weighings: readonly Weighing[],
  context: FilterContext,
  parts?: Map<string, Float64Array>,
): Float64Array {
  const weights = new Float64Array(hosts.length);
  const raw = new Float64Array(hosts.length);
  for (const { weigher, multiplier } of weighings) {
    const weigh = weigher.prepare(context);
    let least = weigher.least ?? Infinity;
    let most = -Infinity;
    hosts.forEach((host, i) => {
      const weight = weigh(host);
      raw[i] = weight;
      if (weigher.least === undefined && weight < least) least = weight;
      if (weight > most) most = weight;
    });
    const range = most - least;
    if (range === 0) continue;
    const part = parts && new Float64Array(hosts.length);
    hosts.forEach((host, i) => {
      const sign = weigher.isNegated ? -1 : 1;
      const added = (sign * multiplierOn(host, weigher.multiplier, multiplier) * ((raw[i] ?? 0) - least)) / range;
      weights[i] = (weights[i] ?? 0) + added;
      if (part) part[i] = added;
    });
    if (part) parts.set(weigher.name, part);
  }
  return weights;
}

/** Indexes of weights, the greatest first, lazily; of equal ones the first comes first. */
export function* bestFirst(weights: Float64Array): Generator<number, undefined> {
  const byWeight = (a: number, b: number) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b;
  const queue = new TinyQueue([...weights.keys()], byWeight);
  for (let i = queue.pop(); i !== undefined; i = queue.pop()) yield i;
  return undefined;
}

function multiplierOn(host: HostState, name: string, configured: number): number {
  const { aggregates } = host;
  if (aggregates.length === 0) return configured;
  const said = metadataOf(host, name);
  const values = said.map(Number);
  return said.length === 0 || values.some(Number.isNaN) ? configured : Math.min(...values);
}
