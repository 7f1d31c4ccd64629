import { addResources, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { roomWanted } from '#libs/domain/queueing/place-lease';
import type { PlacementView } from '#libs/placement/port/placement-view';

/** The room on a host that leased alternates want kept free, by class; and when the first of the leases ends by itself. */
export interface LeasedRoom {
  readonly wanted: Resources | undefined;
  readonly endsAtMs: number | undefined;
}

const NONE: LeasedRoom = { wanted: undefined, endsAtMs: undefined };

/** Capacity of a host that leases hold now; leases of instances that hold a claim there count for nothing. */
export function leasedRoom(tree: readonly Provider[], view: PlacementView, nowMs: number): LeasedRoom {
  const [root] = tree;
  if (root === undefined) return NONE;
  const wanted: { readonly resources: Resources; readonly likelihood: number }[] = [];
  let endsAtMs: number | undefined;
  for (const { kind, consumerUuid, untilMs, places } of view.leasesOn(root.uuid)) {
    if (kind !== 'alternates' || untilMs <= nowMs) continue;
    endsAtMs = Math.min(untilMs, endsAtMs ?? untilMs);
    if (tree.some(({ uuid }) => view.consumersOn(uuid).has(consumerUuid))) continue;
    for (const { rootUuid, allocations, likelihood } of places) {
      if (rootUuid !== root.uuid) continue;
      wanted.push({ resources: Object.values(allocations).reduce(addResources, {}), likelihood });
    }
  }
  return endsAtMs === undefined ? NONE : { wanted: roomWanted(wanted), endsAtMs };
}
