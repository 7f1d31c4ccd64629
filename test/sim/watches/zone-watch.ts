import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import { type Aggregate, tenantsOf, zoneOf } from '#libs/domain/grouping/aggregate';
import type { Instance } from '#libs/domain/instance';
import type { Change } from '#libs/placement/port/placement-store';
import { BAR } from '../settings';

/** A host's place from a time on, until the next. */
interface Place {
  readonly sinceMs: number;
  readonly zone: string;
  readonly tenants: readonly string[];
  /** True when a taint or a declared filter excludes every project. */
  readonly isBarred: boolean;
}

/** Age limit of a decision's basis: a scheduler cut off from the store for longer is not ready. */
export const STALE_MS = 6_000;

/** Zones and tenants of hosts by their aggregates, as written. */
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

  /** True if the host accepted the project, and no taint or rule barred it, throughout the time that a decision may rest on. */
  letsIn(host: string, projectId: string, atMs: number): boolean {
    const isOpen = isFor(projectId);
    return this.#placesSince(host, atMs - STALE_MS).every((place) => !place.isBarred && isOpen(place));
  }

  /**
   * The violation in a claim that is made now, if any: at some time that the decision may rest on, the host must have been in the
   * instance's zone, and its tenants must have included the project.
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

  /** Places of a host at any time since then. */
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
