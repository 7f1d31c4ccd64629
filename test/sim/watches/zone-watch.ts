import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import { type Aggregate, tenantsOf, zoneOf } from '#libs/domain/grouping/aggregate';
import type { Instance } from '#libs/domain/instance';
import type { Change } from '#libs/placement/port/placement-store';
import { BAR } from '../settings';

/** What a host was from some time on, until the next. */
interface Place {
  readonly sinceMs: number;
  readonly zone: string;
  readonly tenants: readonly string[];
  /** True when a taint or a declared filter keeps everybody out. */
  readonly isBarred: boolean;
}

/** A decision may rest on what a scheduler cut off from the store knew; then it is not ready any more. */
export const STALE_MS = 6_000;

/** Where hosts are by their aggregates, and for whom, as it was written. */
export class ZoneWatch {
  readonly #aggregates = new Map<string, Aggregate>();
  readonly #memberships = new Map<string, readonly string[]>();
  readonly #places = new Map<string, Place[]>();

  take({ aggregates = [], deletedAggregates = [], hosts = [] }: Change, atMs: number): void {
    for (const aggregate of aggregates) this.#aggregates.set(aggregate.uuid, aggregate);
    for (const uuid of deletedAggregates) this.#aggregates.delete(uuid);
    for (const host of hosts) this.#memberships.set(host.name, host.aggregates);
    for (const [host, uuids] of this.#memberships) {
      const of = uuids.flatMap((uuid) => this.#aggregates.get(uuid) ?? []);
      const places = this.#places.get(host) ?? [];
      this.#places.set(host, [
        ...places,
        { sinceMs: atMs, zone: zoneOf(of), tenants: tenantsOf(of), isBarred: of.some(bars) },
      ]);
    }
  }

  /** Whether a host lets a project in, as far as anybody may have known lately. */
  letsIn(host: string, projectId: string, atMs: number): boolean {
    return this.#placesSince(host, atMs - STALE_MS).every(isFor(projectId));
  }

  /**
   * What is wrong about a claim for an instance on a host, made now: its zone must have been the one that the instance wants, and its tenants
   * must have let it in, at some time since somebody may have decided it.
   */
  wrongOf({ uuid, projectId }: Consumer, host: string, { createdAtMs, requestSpec }: Instance): string | undefined {
    const possible = this.#placesSince(host, createdAtMs - STALE_MS);
    if (possible.length === 0) return undefined;
    const { availabilityZone: wanted } = requestSpecCodec.decode(requestSpec);
    const zones = possible.map(({ zone }) => zone);
    if (wanted !== undefined && !zones.includes(wanted))
      return `${uuid} wants ${wanted}, ${host} is in ${zones.at(-1)}`;
    if (possible.every(({ isBarred }) => isBarred)) return `${uuid} is on ${host}, which a taint or a rule bars`;
    return possible.some(isFor(projectId))
      ? undefined
      : `${uuid} is of ${projectId}, ${host} is for ${possible.at(-1)?.tenants.join(', ')}`;
  }

  /** What a host was at some time since then. */
  #placesSince(host: string, fromMs: number): readonly Place[] {
    const places = this.#places.get(host) ?? [];
    return places.filter((_, n) => (places[n + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= fromMs);
  }
}

function bars({ metadata }: Aggregate): boolean {
  return BAR in metadata || `taint:${BAR}` in metadata;
}

function isFor(projectId: string) {
  return ({ tenants }: Place) => tenants.length === 0 || tenants.includes(projectId);
}
