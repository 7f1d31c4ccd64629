import type { Principal } from '../auth/principal';
import type { Placement } from '../placement';
import type { Microversion } from './microversion';
import type { Query } from './query';

/** What a handler gets: one request, authenticated, allowed by policy, its query string valid. */
export interface ApiRequest {
  readonly version: Microversion;
  readonly principal: Principal;
  /** What stands in the path, decoded: `uuid`, `name`, `resource_class`, `consumer_uuid`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The body, valid by the route's schema of this microversion. @throws HttpError 400 */
  readonly body: () => unknown;
}

export interface Answer {
  readonly status: 200 | 201 | 204;
  /** Sent as JSON. */
  readonly body?: object;
  /** The body as JSON text, instead of `body`. */
  readonly json?: string;
  readonly location?: string;
  /** When what it tells was last changed; now when it can't be said. Told since microversion 1.15. */
  readonly lastModifiedMs?: number | 'now';
}

export type Handler = (request: ApiRequest, placement: Placement) => Promise<Answer> | Answer;
