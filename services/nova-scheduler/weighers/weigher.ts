import type { HostState } from '../decision/host-state';
import { metadataOf } from '../filters/aggregates';
import type { FilterContext } from '../filters/filter';

/** One of Nova's weighers: a raw number for a host, more is better. */
export interface Weigher {
  /** Its multiplier in nova.conf and in the metadata of aggregates: `ram_weight_multiplier`. */
  readonly multiplier: string;
  /** The least that the raw number is scaled from; undefined for the least of all hosts. */
  readonly least?: number;
  prepare(context: FilterContext): (host: HostState) => number;
}

/** A weigher with its configured multiplier. */
export interface Weighing {
  readonly weigher: Weigher;
  readonly multiplier: number;
}

/**
 * Hosts by weight, best first; of equal ones the first given stays first. Each weigher's raw numbers are scaled to 0..1 over these hosts
 * and multiplied, as Nova does; the metadata of a host's aggregates may have another multiplier, of several the least.
 */
export function weighHosts(
  hosts: readonly HostState[],
  weighings: readonly Weighing[],
  context: FilterContext,
): { readonly host: HostState; readonly weight: number }[] {
  const weights = new Float64Array(hosts.length);
  for (const { weigher, multiplier } of weighings) {
    const weigh = weigher.prepare(context);
    const raw = hosts.map(weigh);
    const least = weigher.least ?? raw.reduce((a, b) => Math.min(a, b), Infinity);
    const most = raw.reduce((a, b) => Math.max(a, b), -Infinity);
    const range = most - least;
    if (range === 0) continue;
    hosts.forEach((host, i) => {
      const scaled = ((raw[i] ?? 0) - least) / range;
      weights[i] = (weights[i] ?? 0) + multiplierOn(host, weigher.multiplier, multiplier) * scaled;
    });
  }
  return hosts.map((host, i) => ({ host, weight: weights[i] ?? 0 })).sort((a, b) => b.weight - a.weight);
}

function multiplierOn(host: HostState, name: string, configured: number): number {
  if (host.aggregates.length === 0) return configured;
  const said = metadataOf(host, name);
  const values = said.map(Number);
  return said.length === 0 || values.some(Number.isNaN) ? configured : Math.min(...values);
}
