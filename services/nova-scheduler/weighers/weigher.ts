import type { HostState } from '../decision/host-state';
import { metadataOf } from '../filters/aggregates';
import type { FilterContext } from '../filters/filter';

/** One of Nova's weighers: a raw number for a host, more is better. */
export interface Weigher {
  /** Its class in Nova: `RAMWeigher`. */
  readonly name: string;
  /** Its multiplier in nova.conf and in the metadata of aggregates: `ram_weight_multiplier`. */
  readonly multiplier: string;
  /** Section and option of the multiplier in nova.conf, where they are not `filter_scheduler` and its name in aggregates. */
  readonly option?: readonly [section: string, name: string];
  /** The least that the raw number is scaled from; undefined for the least of all hosts. */
  readonly least?: number;
  /** True where the multiplier counts against a host. */
  readonly isNegated?: true;
  /**
   * Undefined where the request has it weigh all hosts alike.
   *
   * @param multiplierOn  the multiplier on a host
   */
  prepare(context: FilterContext, multiplierOn: (host: HostState) => number): ((host: HostState) => number) | undefined;
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
  // A single host needs no weight, which Nova does not ask for: a weigher may fail.
  if (hosts.length < 2) return weights;
  const raw = new Float64Array(hosts.length);
  for (const { weigher, multiplier } of weighings) {
    if (multiplier === 0 && !hosts.some((host) => saysMultiplier(host, weigher.multiplier))) continue;
    const on = (host: HostState) => multiplierOn(host, weigher.multiplier, multiplier);
    const weigh = weigher.prepare(context, on);
    if (weigh === undefined) continue;
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
      const added = (sign * on(host) * ((raw[i] ?? 0) - least)) / range;
      weights[i] = (weights[i] ?? 0) + added;
      if (part) part[i] = added;
    });
    if (part) parts.set(weigher.name, part);
  }
  return weights;
}

/** More than this are rarely asked for: a host, its alternates, and those that a record names. */
const FEW = 16;

/** Indexes of weights, the greatest first, lazily; of equal ones the first comes first. */
export function* bestFirst(weights: Float64Array): Generator<number, undefined> {
  const few = bestFew(weights);
  yield* few;
  if (few.length === weights.length) return undefined;
  const isFew = new Set(few);
  const others = [...weights.keys()].filter((i) => !isFew.has(i));
  yield* others.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  return undefined;
}

/** In one pass over all. */
function bestFew(weights: Float64Array): readonly number[] {
  const few: number[] = [];
  const weightAt = (place: number) => weights[few[place] ?? -1] ?? -Infinity;
  weights.forEach((weight, i) => {
    if (few.length === FEW && weight <= weightAt(FEW - 1)) return;
    let place = few.length;
    while (place > 0 && weightAt(place - 1) < weight) place--;
    few.splice(place, 0, i);
    if (few.length > FEW) few.pop();
  });
  return few;
}

function saysMultiplier({ aggregates }: HostState, name: string): boolean {
  return aggregates.some(({ metadata }) => metadata.has(name));
}

function multiplierOn(host: HostState, name: string, configured: number): number {
  const { aggregates } = host;
  if (aggregates.length === 0) return configured;
  const said = metadataOf(host, name);
  const values = said.map(Number);
  return said.length === 0 || values.some(Number.isNaN) ? configured : Math.min(...values);
}
