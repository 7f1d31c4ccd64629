import type { HostSummary } from '#libs/contracts/hosts';
import { zoneOf } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import { addResources, capacityOf, type Inventories, type Inventory, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Quarantines } from '../fleet/quarantine';
import { aggregatesOf } from '../fleet/read-host';

/** A host as operators see it. Amounts are those of its whole tree; `berth provider tree` shows them by provider. */
export function summarise(view: PlacementView, host: Host, quarantines: Quarantines): HostSummary {
  const tree = view.tree(host.providerUuid);
  const [root] = tree;
  const used = tree.map(({ uuid }) => view.usage(uuid)).reduce<Resources>(addResources, {});
  const inventories = Object.entries(sumOf(tree));
  const instances = new Set(tree.flatMap(({ uuid }) => [...view.consumersOn(uuid)]));
  return {
    host: host.name,
    providerUuid: host.providerUuid,
    cell: host.cell,
    availabilityZone: zoneOf(aggregatesOf(view, host)),
    up: host.up,
    enabled: host.enabled,
    disabledReason: host.disabledReason,
    instances: instances.size,
    externalInstances: host.externalInstances,
    resources: Object.fromEntries(inventories.map(([name, inventory]) => [name, { inventory, used: used[name] ?? 0 }])),
    traits: root?.traits ?? [],
    aggregates: root?.aggregates ?? [],
    // The wire counts whole failures; what is left of an old one is one.
    failures: Math.ceil(host.failures),
    updatedAtMs: host.updatedAtMs,
    ioOps: host.ioOps,
    serviceHost: host.serviceHost,
    failuresInARow: host.failuresInARow,
    lastFailure: host.lastFailure,
    quarantinedUntilMs: quarantines.untilMs.get(host.name) ?? 0,
  };
}

function sumOf(tree: readonly Provider[]): Inventories {
  const sum: Record<string, Inventory> = {};
  for (const [name, inventory] of tree.flatMap(({ inventories }) => Object.entries(inventories))) {
    const before = sum[name];
    sum[name] = before ? added(before, inventory) : inventory;
  }
  return sum;
}

/** Both together: the capacity of both, by a ratio between theirs, within the widest units. */
function added(a: Inventory, b: Inventory): Inventory {
  const [total, reserved] = [a.total + b.total, a.reserved + b.reserved];
  const mixed = reserved < total ? (capacityOf(a) + capacityOf(b)) / (total - reserved) : 1;
  return {
    total,
    reserved,
    allocationRatio: a.allocationRatio === b.allocationRatio ? a.allocationRatio : mixed,
    minUnit: Math.min(a.minUnit, b.minUnit),
    maxUnit: Math.max(a.maxUnit, b.maxUnit),
    stepSize: Math.min(a.stepSize, b.stepSize),
  };
}
