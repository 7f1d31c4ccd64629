import type { Principal } from '#libs/auth/auth';
import type { Placement } from '../placement';
import type { Microversion } from './microversion';
import type { Query } from './query';

/** A request in the form for handlers: authenticated, allowed by policy, with a valid query string. */
export interface ApiRequest {
  readonly version: Microversion;
  readonly principal: Principal;
  /** The decoded parameters of the path; only the route's own. */
  readonly params: Readonly<Record<'uuid' | 'name' | 'resource_class' | 'consumer_uuid', string>>;
  readonly query: Query;
  /** True when allocations above a quota are to be refused. */
  readonly isWithinQuota: boolean;
  /** True when candidates are to have ids, by which they may be claimed. */
  readonly wantsIds: boolean;
  /** The id of the candidate to claim, if the request names one. */
  readonly candidateId: string | undefined;
  /** The body, completed by these properties and validated by the route's schema at this microversion. @throws HttpError 400 */
  readonly body: (completed?: object) => unknown;
}

export interface Answer {
  readonly status: 200 | 201 | 202 | 204;
  /** Sent as JSON. */
  readonly body?: object;
  /** The body as JSON text, instead of `body`. */
  readonly json?: string;
  readonly location?: string;
  /** When the resource was last changed; `now` when unknown. Sent since microversion 1.15. */
  readonly lastModifiedMs?: number | 'now';
}

export type Handler = (request: ApiRequest, placement: Placement) => Promise<Answer> | Answer;

/** The latest of several times of change; `now` when one is unknown. */
export function newest(timesMs: Iterable<number>): number | 'now' {
  let latest = 0;
  for (const atMs of timesMs) if (atMs > latest) latest = atMs;
  return latest || 'now';
}
