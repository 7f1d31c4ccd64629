import { addResources, type Resources } from '#libs/domain/inventory';
import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Fleet } from '../fleet';
import type { FleetSnapshot } from '../fleet-snapshot';

/** The asker: nominations for the same instances, and those of lower priorities, do not block it. */
export interface Asker {
  readonly instanceUuids: readonly string[];
  readonly priority?: number | undefined;
}

/**
 * The nominations that a request has to respect: of instances with the same or a higher priority, for which others are making
 * room, and which hold nothing yet. (kube-scheduler counts nominated pods of the same or a higher priority likewise.)
 */
export function nominationsBefore(
  { instanceUuids, priority: own = 0 }: Asker,
  view: PlacementView,
  nowMs: number,
): readonly PlaceLease[] {
  const all = view.nominations();
  // Most often there are none.
  if (all.length === 0) return all;
  return all.filter(
    ({ consumerUuid, priority, untilMs }) =>
      priority >= own && untilMs > nowMs && !instanceUuids.includes(consumerUuid) && !view.consumer(consumerUuid),
  );
}

/**
 * Hosts, by index, that are left to those for whom room is made there: with what they are to have, the host would not have
 * room for all instances of the request. Of hosts with several providers nobody can say so in sums: they are left alone.
 */
export function nominatedHosts(
  nominations: readonly PlaceLease[],
  { resources, requestGroups }: Pick<RequestSpec, 'resources' | 'requestGroups'>,
  instanceCount: number,
  { fleet, snapshot }: { readonly fleet: Fleet; readonly snapshot: FleetSnapshot },
): ReadonlySet<number> {
  if (nominations.length === 0) return NO_HOSTS;
  const byHost = new Map<number, Resources>();
  for (const { allocations } of nominations.flatMap(({ places }) => places)) {
    const index = fleet.indexOfAllocations(allocations);
    if (index === undefined) continue;
    const amounts = Object.values(allocations).reduce(addResources, byHost.get(index) ?? {});
    byHost.set(index, amounts);
  }
  const asked = [resources, ...requestGroups.map((group) => group.resources)].reduce(addResources, {});
  const hosts = new Set<number>();
  for (const [index, nominated] of byHost) {
    const host = snapshot.at(index);
    if (host === undefined) continue;
    const isInTheWay = (name: string) => {
      const amount = nominated[name] ?? 0;
      const left = (host.free[name] ?? 0) - amount - (asked[name] ?? 0) * instanceCount;
      return amount > 0 && (host.providers !== undefined || left < 0);
    };
    if (Object.keys(asked).some(isInTheWay)) hosts.add(index);
  }
  return hosts;
}

const NO_HOSTS: ReadonlySet<number> = new Set();
