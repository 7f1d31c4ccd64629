import type { Instance } from '#libs/domain/instance';
import type { Standing } from '#libs/domain/queueing/fair-share';
import { expectedTimes } from './expected-times';
import type { WaitingRequest } from './waiting-request';

/** Waiting requests by id: the place, from 1, and the expected time of their turn, as far as it is known. */
export interface Places {
  readonly places: ReadonlyMap<string, number>;
  readonly expectedAtMs: ReadonlyMap<string, number>;
}

/** The same, with their standings where the queue goes by these. */
export interface ShownPlaces extends Places {
  readonly standings: ReadonlyMap<string, Standing>;
  readonly halfLifeMs: number;
}

/** @param ending  instances whose time limits end, soonest first */
export function placesOf(requests: readonly WaitingRequest[], ending: readonly Instance[]): Places {
  return {
    places: new Map(requests.map(({ requestId }, n) => [requestId, n + 1])),
    expectedAtMs: expectedTimes(requests, ending),
  };
}
