import type { Principal } from '#libs/auth/auth';
import type { Placement } from '../placement';
import type { Microversion } from './microversion';
import type { Query } from './query';

/** A request as handlers get it: authenticated, allowed by policy, its query string valid. */
export interface ApiRequest {
  readonly version: Microversion;
  readonly principal: Principal;
  /** The parameters of the path, decoded; only those that the route has. */
  readonly params: Readonly<Record<'uuid' | 'name' | 'resource_class' | 'consumer_uuid', string>>;
  readonly query: Query;
  /** What would exceed a quota is to be refused. */
  readonly isWithinQuota: boolean;
  /** The body, validated by the route's schema of this microversion. @throws HttpError 400 */
  readonly body: () => unknown;
}

export interface Answer {
  readonly status: 200 | 201 | 204;
  /** Sent as JSON. */
  readonly body?: object;
  /** The body as JSON text, instead of `body`. */
  readonly json?: string;
  readonly location?: string;
  /** When the resource was last changed; `now` when that is unknown. Sent since microversion 1.15. */
  readonly lastModifiedMs?: number | 'now';
}

export type Handler = (request: ApiRequest, placement: Placement) => Promise<Answer> | Answer;

/** The latest of the times of change of any number of things; `now` when it is unknown. */
export function newest(timesMs: Iterable<number>): number | 'now' {
  let latest = 0;
  for (const atMs of timesMs) if (atMs > latest) latest = atMs;
  return latest || 'now';
}
