import { zoneOf } from '#libs/domain/grouping/aggregate';
import { capacityOf } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Metrics } from '#libs/runtime/metrics';

type View = Pick<PlacementView, 'hosts' | 'tree' | 'usage' | 'aggregate'>;

interface Stock {
  capacity: number;
  used: number;
}

/** Limit of the zones, and of the classes, with series of their own; the others share the label `other`. */
const MAX_NAMES = 40;
const OTHER = 'other';

/** Capacity and use by resource class and zone, of hosts that builds may go to. */
export function capacityMetrics(metrics: Metrics, view: View): void {
  const labels = ['resource_class', 'zone'] as const;
  const help = 'of hosts that are up and enabled, in units of the class.';
  // Metrics are collected in order: the first one looks at the fleet for both.
  let stocks: ReadonlyMap<string, Stock> = new Map();
  metrics.gauge('berth_scheduler_capacity', `Capacity ${help}`, labels, (gauge) => {
    stocks = stocksOf(view);
    gauge.reset();
    for (const [key, { capacity }] of stocks) gauge.set(labelsOf(key), capacity);
  });
  metrics.gauge('berth_scheduler_capacity_used', `Amounts in use ${help}`, labels, (gauge) => {
    gauge.reset();
    for (const [key, { used }] of stocks) gauge.set(labelsOf(key), used);
  });
}

/** By class and zone, as one key: a class has no blanks. */
function stocksOf(view: View): ReadonlyMap<string, Stock> {
  const stocks = new Map<string, Stock>();
  const [zones, classes] = [atMost(MAX_NAMES), atMost(MAX_NAMES)];
  for (const host of view.hosts()) {
    if (!host.up || !host.enabled) continue;
    const zone = zones(zoneOf(host.aggregates.flatMap((uuid) => view.aggregate(uuid) ?? [])));
    for (const { uuid, inventories } of view.tree(host.providerUuid)) {
      const used = view.usage(uuid);
      for (const [name, inventory] of Object.entries(inventories)) {
        const key = `${classes(name)} ${zone}`;
        let stock = stocks.get(key);
        if (!stock) stocks.set(key, (stock = { capacity: 0, used: 0 }));
        stock.capacity += capacityOf(inventory);
        stock.used += used[name] ?? 0;
      }
    }
  }
  return stocks;
}

/** Names as they come, and `other` once there are so many. */
function atMost(most: number): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (names.size < most) names.add(name);
    return names.has(name) ? name : OTHER;
  };
}

function labelsOf(key: string) {
  const at = key.indexOf(' ');
  return { resource_class: key.slice(0, at), zone: key.slice(at + 1) };
}
