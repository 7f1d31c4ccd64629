import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import type { Clock } from '#libs/domain/clock';
import { type Host, isUnheard } from '#libs/domain/host';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { unknownUpToMs } from '#libs/placement/port/store-identity';
import { keptFor } from '#libs/runtime/kept-for';

/** So old may be what is known of the store's losses: a loss is noticed that much later. */
const KNOWN_FOR_MS = 1_000;

/** Up to when the store may have lost writes, by its clock; asked once a while. */
export function lossKeeper(placement: Pick<PlacementStore, 'identify'>, clock: Clock): () => Promise<number> {
  return keptFor(KNOWN_FOR_MS, clock, async () => unknownUpToMs(await placement.identify()));
}

/** True when conductors have yet to hear all that a host runs, since its store may have lost what they knew; and what a report is worth. */
export interface Hearing {
  readonly isOwed: boolean;
  /** Above 0: the report says all that is there, as it was after this time, and with the allocation requests. */
  readonly saidAfterMs: number;
}

/**
 * After a store went back, or a new one took its place, what ran may have a record of before, or a request that comes again. Each host
 * is heard once in full before conductors give anything up: by a report that was made after the loss, and not only taken after it, for
 * what was built in between is not in one that was under way. A report names the time of the answer before it. An agent of an older version does not: the report before it counts,
 * if that was taken after the loss.
 */
export async function hearingOf(
  stats: UpdateResourceStatsRequest,
  view: { readonly host: (name: string) => Pick<Host, 'heardInFullAtMs'> | undefined },
  placement: Pick<PlacementStore, 'heardAt'>,
  { upToMs, nowMs }: { readonly upToMs: number; readonly nowMs: number },
): Promise<Hearing> {
  const host = view.host(stats.host);
  const isOwed = upToMs > 0 && (host === undefined || isUnheard(host, upToMs));
  if (!isOwed) return { isOwed, saidAfterMs: 0 };
  const { answeredAtMs = 0, sequence } = stats;
  const isOfOlderAgent = answeredAtMs === 0 && sequence > 1;
  const beforeMs = isOfOlderAgent ? ((await placement.heardAt([stats.host])).get(stats.host) ?? 0) : answeredAtMs;
  const isShown = stats.instances.length === 0 || stats.instances.some((one) => one.allocationRequest.length > 0);
  // Journals of older versions have none to show: by then every scheduler has asked for them.
  const isAsked = isShown || beforeMs > upToMs + 2 * KNOWN_FOR_MS;
  // A report of times to come would count after the next loss, too.
  return { isOwed, saidAfterMs: beforeMs > upToMs && isAsked ? Math.min(beforeMs, nowMs) : 0 };
}
