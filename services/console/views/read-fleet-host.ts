import { type Aggregate, metadataOf, zoneOf } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import { capacityOf } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { FLAGS, type FleetHost } from '../api/fleet';
import { heldOnHost } from './held-on-host';

/** Aggregate metadata of this name give the rack of their hosts. */
const RACK_KEY = 'rack';

/** Consecutive failures from which a host counts as failing; schedulers may quarantine it later. */
const FAILING = 2;

/** Marks of hosts that are not in the placement store. */
export interface HostMarks {
  isDraining(host: Host): boolean;
  isDoubtful(host: string): boolean;
}

/**
 * A host on the fleet page, its whole tree added up.
 *
 * @param classes  the resource classes to include, in order
 */
export function readFleetHost(
  view: PlacementView,
  host: Host,
  classes: readonly string[],
  marks: HostMarks,
): FleetHost {
  const aggregates = aggregatesOf(view, host);
  const tree = view.tree(host.providerUuid);
  const used = classes.map(() => 0);
  const capacity = classes.map(() => 0);
  for (const { uuid, inventories } of tree) {
    const inUse = view.usage(uuid);
    for (const [i, name] of classes.entries()) {
      const inventory = inventories[name];
      if (inventory === undefined) continue;
      capacity[i] = (capacity[i] ?? 0) + capacityOf(inventory);
      used[i] = (used[i] ?? 0) + (inUse[name] ?? 0);
    }
  }
  return {
    name: host.name,
    zone: zoneOf(aggregates),
    rack: metadataOf(aggregates, RACK_KEY)[0] ?? '',
    aggregates: aggregates.map(({ name }) => name),
    flags: flagsOf(host, marks),
    failures: Math.ceil(host.failures),
    failuresInARow: host.failuresInARow,
    updatedAtMs: host.updatedAtMs,
    ioOps: host.ioOps,
    instances: heldOnHost(view, host).size,
    used,
    capacity,
  };
}

/** The aggregates that a host is in. */
export function aggregatesOf(view: Pick<PlacementView, 'aggregate'>, host: Host): readonly Aggregate[] {
  return host.aggregates.map((uuid) => view.aggregate(uuid)).filter((aggregate) => aggregate !== undefined);
}

/** The resource classes that a host's tree has. */
export function classesOf(view: PlacementView, host: Host): readonly string[] {
  return view.tree(host.providerUuid).flatMap(({ inventories }) => Object.keys(inventories));
}

function flagsOf(host: Host, marks: HostMarks): number {
  const isDraining = marks.isDraining(host);
  return (
    (host.up ? 0 : FLAGS.down) +
    (host.enabled ? 0 : FLAGS.disabled) +
    (isDraining ? FLAGS.draining : 0) +
    (marks.isDoubtful(host.name) ? FLAGS.doubtful : 0) +
    (host.failuresInARow >= FAILING ? FLAGS.failing : 0)
  );
}
