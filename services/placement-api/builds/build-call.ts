import type { Client } from '#libs/client/client';
import type { Query } from '../http/query';
import type { PlacementApiConfig } from '../options';
import type { Placement } from '../placement';
import type { Caller } from './caller';

/** A request whose sender, size and shape are judged. */
export interface BuildCall {
  readonly caller: Caller;
  /** @throws BerthError `unavailable`: there is no bus, or the broker is away. */
  readonly client: () => Promise<Client>;
  /** Keys of names (`ClientSource.nameKeys`). */
  readonly nameKeys: readonly string[];
  readonly placement: Placement;
  readonly nowMs: number;
  readonly config: PlacementApiConfig;
  readonly params: Readonly<Record<'uuid' | 'name' | 'project_id', string>>;
  readonly query: Query;
  /** Valid by the route's schema; undefined for a route without one. */
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}
