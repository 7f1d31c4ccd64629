import type { Clock } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { groupKey } from '#libs/domain/server-group';
import type { Mirror } from '#libs/placement/mirror/mirror';

/** Time limit within which the caller has recorded or released a selection. */
const EXPECTED_MS = 10_000;

/** A member on its way to a zone. */
interface Expected {
  readonly group: string;
  readonly zone: string;
  readonly untilMs: number;
}

/**
 * Counts groups' members by zone: those in the top's store, from the mirror, and those for which this scheduler has
 * just selected a zone. The latter only avoid conflicts: the commit at the top counts reservations.
 */
export class ZoneMembers {
  /** By instance, oldest first. */
  readonly #expected = new Map<string, Expected>();

  constructor(
    private readonly mirror: Pick<Mirror, 'groupMembers' | 'consumer'>,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /** Records expected members. */
  expect(projectId: string, name: string, places: ReadonlyMap<string, string>): void {
    const untilMs = this.clock.elapsed() + EXPECTED_MS;
    for (const [uuid, zone] of places) {
      this.#expected.delete(uuid);
      this.#expected.set(uuid, { group: groupKey(projectId, name), zone, untilMs });
    }
  }

  /** By zone, without some instances; `held` excludes expected members. */
  count(projectId: string, name: string, except: readonly string[], held: 'held' | 'expected'): Map<string, number> {
    const group = groupKey(projectId, name);
    const counts = new Map<string, number>();
    const seen = new Set(except);
    const add = (zone: string) => counts.set(zone, (counts.get(zone) ?? 0) + 1);
    for (const uuid of this.mirror.groupMembers(group)) {
      const domain = this.mirror.consumer(uuid)?.groupDomain;
      if (domain?.by !== ZONE_KEY || seen.has(uuid)) continue;
      seen.add(uuid);
      add(domain.domain);
    }
    this.#forgetOld();
    if (held === 'held') return counts;
    for (const [uuid, one] of this.#expected) if (one.group === group && !seen.has(uuid)) add(one.zone);
    return counts;
  }

  #forgetOld(): void {
    for (const [uuid, { untilMs }] of this.#expected) {
      if (untilMs > this.clock.elapsed()) return;
      this.#expected.delete(uuid);
    }
  }
}
