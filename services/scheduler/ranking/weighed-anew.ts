import { type Random, randomInt } from '#libs/domain/random';
import { WEIGHED_ANEW } from '../demand/pricing';
import type { HostState } from '../fleet/host-state';
import type { WeighedHost } from './ranked-hosts';

/**
 * Ranked hosts, the first {@link WEIGHED_ANEW} of them in the order of another weight, equal ones drawn. Those behind them
 * stay in their order, and none weighs more than the one before it.
 */
export function* weighedAnew(
  ranked: Iterator<WeighedHost, void>,
  weigh: (host: HostState) => number,
  random: Random,
): Generator<WeighedHost, void> {
  const first: (WeighedHost & { readonly tie: number })[] = [];
  for (let next = ranked.next(); !next.done; next = ranked.next()) {
    const { host } = next.value;
    first.push({ host, weight: weigh(host), tie: randomInt(random, 2 ** 31) });
    if (first.length === WEIGHED_ANEW) break;
  }
  yield* first.sort((a, b) => b.weight - a.weight || b.tie - a.tie);
  let least = first.at(-1)?.weight ?? 0;
  for (let next = ranked.next(); !next.done; next = ranked.next()) {
    least = Math.min(least, next.value.weight);
    yield { host: next.value.host, weight: least };
  }
}
