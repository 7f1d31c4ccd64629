import type { WantedHosts } from '../contracts/capacity-wanted';
import type { Client } from './client';

/** Bounds of an autoscaler. */
export interface AutoscalerLimits {
  /** Hosts that are added at a time. */
  readonly atOnce: number;
  /** Hosts that are added in all. */
  readonly inAll: number;
}

/**
 * An autoscaler, to begin one's own with: adds the hosts that serve most of what waits, as the conductors tell it, until the
 * signal aborts. `add` resolves when the hosts have reported, or failed to, so that none is asked for twice; of what is said
 * meanwhile the last counts.
 */
export async function autoscale(
  client: Pick<Client, 'onCapacityWanted'>,
  add: (count: number, shape: WantedHosts) => Promise<void>,
  { atOnce, inAll }: AutoscalerLimits,
  signal: AbortSignal,
): Promise<void> {
  let latest: WantedHosts | undefined;
  let wake = () => {};
  const hearing = await client.onCapacityWanted(({ wanted: [best] }) => {
    latest = best;
    wake();
  });
  signal.addEventListener('abort', () => wake(), { once: true });
  for (let left = inAll; left > 0 && !signal.aborted; ) {
    const best = latest;
    latest = undefined;
    if (best === undefined) {
      await new Promise<void>((resolve) => (wake = resolve));
      continue;
    }
    const count = Math.min(best.hosts, atOnce, left);
    await add(count, best);
    left -= count;
    // It was said before they were there.
    latest = undefined;
  }
  await hearing.cancel();
}
