import type { Conductor } from '../context';
import { expectedTimes } from './expected-times';
import type { WaitingRequest } from './pending-queue';

/** How old the order of the queue may be that is shown. */
export const PLACES_AGE_MS = 1_000;
/** Instances that are looked through for those that end by their time limit. */
const MAX_ENDING = 500;

/** Of requests that wait, by their id: the place, from 1, and when it may be their turn, as far as that is known. */
export interface Places {
  readonly places: ReadonlyMap<string, number>;
  readonly expectedAtMs: ReadonlyMap<string, number>;
}

/**
 * The places of all requests that wait. To read who ends soon, and to number ten thousand, takes milliseconds, and many ask at
 * once; so one answer is kept for as long as the order is the same, but for no longer than it may be old.
 */
export async function placesOf(c: Conductor, requests: readonly WaitingRequest[]): Promise<Places> {
  const nowMs = c.clock.elapsed();
  const known = kept.get(requests);
  if (known !== undefined && nowMs - known.atMs < PLACES_AGE_MS) return known.places;
  const places = numbered(c, requests);
  kept.set(requests, { places, atMs: nowMs });
  // What failed is not kept.
  places.catch(() => kept.delete(requests));
  return places;
}

/** By the order that they were made of, which is a list of its own each time. */
const kept = new WeakMap<readonly WaitingRequest[], { readonly places: Promise<Places>; readonly atMs: number }>();

async function numbered(c: Conductor, requests: readonly WaitingRequest[]): Promise<Places> {
  const ending = await c.instances.nextDue(c.clock.now(), MAX_ENDING);
  return {
    places: new Map(requests.map(({ requestId }, n) => [requestId, n + 1])),
    expectedAtMs: expectedTimes(requests, ending),
  };
}
