import type { Instance } from '#libs/domain/instance';
import { expectedTimes } from './expected-times';
import type { WaitingRequest } from './pending-queue';

/** Of requests that wait, by their id: the place, from 1, and when it may be their turn, as far as that is known. */
export interface Places {
  readonly places: ReadonlyMap<string, number>;
  readonly expectedAtMs: ReadonlyMap<string, number>;
}

/** @param ending  instances whose time limits end, soonest first */
export function placesOf(requests: readonly WaitingRequest[], ending: readonly Instance[]): Places {
  return {
    places: new Map(requests.map(({ requestId }, n) => [requestId, n + 1])),
    expectedAtMs: expectedTimes(requests, ending),
  };
}
