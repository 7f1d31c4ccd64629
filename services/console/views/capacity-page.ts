import type { FairShareView } from '#libs/contracts/quotas';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { Flavor } from '#libs/domain/flavor';
import { capacityOf, type Inventory, type Resources, refusalOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { UNLIMITED } from '#libs/domain/quotas/quota';
import { requestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { CapacityPage, FlavorFit, ProjectRow, ZoneCapacity } from '../api/capacity';
import { FLAGS, type FleetHost } from '../api/fleet';
import type { Live } from '../live/live';

/** The part of a flavor that decides how many fit: amounts, and traits of the host. */
interface Size {
  readonly name: string;
  readonly resources: Resources;
  readonly traits: readonly string[];
}

/** Reads what the page of capacity shows. */
export async function readCapacityPage(live: Live): Promise<CapacityPage> {
  const { mirror, client } = live.parts;
  const [known, shares] = await Promise.all([
    client.flavors().catch(() => undefined),
    client.fairShares().then(
      (answer) => answer.shares,
      () => [],
    ),
  ]);
  const sizes = (known ?? []).flatMap(sizeOf).sort((a, b) => total(a) - total(b));
  const { classes, rows } = live.fleet;
  const zones = new Map<string, FleetHost[]>();
  for (const row of rows.values()) {
    const zone = zones.get(row.zone);
    if (zone === undefined) zones.set(row.zone, [row]);
    else zone.push(row);
  }
  const names = [...zones.keys()].sort();
  const fits = sizes.map((size) => new Map(names.map((name) => [name, fitIn(mirror, zones.get(name) ?? [], size)])));
  const [smallest] = sizes;
  return {
    classes,
    zones: names.map((name) => zoneCapacity(live, name, zones.get(name) ?? [], smallest)),
    flavors:
      known &&
      sizes.map(({ name, resources, traits }, i): FlavorFit => {
        const byZone = names.map((zone) => fits[i]?.get(zone) ?? NOWHERE);
        const sum = (key: keyof Fit) => byZone.reduce((all, fit) => all + fit[key], 0);
        return {
          name,
          resources,
          traits,
          total: sum('count'),
          hosts: sum('hosts'),
          byZone: byZone.map(({ count }) => count),
        };
      }),
    projects: projectsOf(mirror, shares),
    smallest: smallest?.name ?? '',
  };
}

interface Fit {
  readonly count: number;
  readonly hosts: number;
}

const NOWHERE: Fit = { count: 0, hosts: 0 };

function fitIn(view: PlacementView, hosts: readonly FleetHost[], size: Size): Fit {
  let [count, hostCount] = [0, 0];
  for (const host of hosts) {
    const here = isOpen(host) ? fitOn(view, host.name, size) : 0;
    count += here;
    if (here > 0) hostCount += 1;
  }
  return { count, hosts: hostCount };
}

/**
 * The number of further instances of a size that fit on a host: for each class the sum over its providers, and the
 * minimum over the classes. Groups, subtrees and sharing providers are ignored: Explain asks a scheduler, which has the
 * last word.
 */
export function fitOn(view: PlacementView, hostName: string, { resources, traits }: Size): number {
  const host = view.host(hostName);
  if (host === undefined) return 0;
  const tree = view.tree(host.providerUuid);
  if (!traits.every((trait) => tree.some((provider) => provider.traits.includes(trait)))) return 0;
  let fit = Number.POSITIVE_INFINITY;
  for (const [name, amount] of Object.entries(resources)) {
    const room = tree.reduce((sum, provider) => sum + timesIn(provider, view.usage(provider.uuid), name, amount), 0);
    fit = Math.min(fit, room);
  }
  return Number.isFinite(fit) ? fit : 0;
}

function timesIn({ inventories }: Provider, used: Resources, name: string, amount: number): number {
  const inventory: Inventory | undefined = inventories[name];
  if (inventory === undefined || refusalOf(inventory, used[name] ?? 0, amount) !== undefined) return 0;
  return Math.floor((capacityOf(inventory) - (used[name] ?? 0)) / amount);
}

function zoneCapacity(live: Live, zone: string, hosts: readonly FleetHost[], smallest: Size | undefined): ZoneCapacity {
  const { classes } = live.fleet;
  const zeros = () => classes.map(() => 0);
  const [used, capacity, free, stranded] = [zeros(), zeros(), zeros(), zeros()];
  let open = 0;
  for (const host of hosts) {
    const takesBuilds = isOpen(host);
    if (takesBuilds) open += 1;
    const isStranded = smallest !== undefined && takesBuilds && fitOn(live.parts.mirror, host.name, smallest) === 0;
    for (const i of classes.keys()) {
      const [itsUsed, itsCapacity] = [host.used[i] ?? 0, host.capacity[i] ?? 0];
      const itsFree = takesBuilds ? Math.max(0, itsCapacity - itsUsed) : 0;
      used[i] = (used[i] ?? 0) + itsUsed;
      capacity[i] = (capacity[i] ?? 0) + itsCapacity;
      free[i] = (free[i] ?? 0) + itsFree;
      if (isStranded) stranded[i] = (stranded[i] ?? 0) + itsFree;
    }
  }
  return { zone, hosts: hosts.length, open, used, capacity, free, stranded, history: live.history.ofZone(zone) };
}

function isOpen({ flags }: FleetHost): boolean {
  return (flags & (FLAGS.down | FLAGS.disabled)) === 0;
}

/** A flavor with invalid extra specs has no size. */
function sizeOf({ name, resources, extraSpecs }: Flavor): Size[] {
  try {
    const resolved = resolveSpec(requestSpec(resources, { projectId: '', userId: '', extraSpecs }), 'flavor');
    return [{ name, resources: resolved.resources, traits: resolved.requiredTraits }];
  } catch {
    return [];
  }
}

function total({ resources }: Size): number {
  return (resources['VCPU'] ?? 0) * 1_000_000 + (resources['MEMORY_MB'] ?? 0);
}

/** Projects with usage, limits and shares. */
export function projectsOf({ quotas }: PlacementView, shares: readonly FairShareView[]): ProjectRow[] {
  const shareOf = new Map(shares.map((share) => [share.projectId, share]));
  const defaults = quotas.defaultQuota()?.limits ?? {};
  return quotas
    .projects()
    .filter((projectId) => projectId !== '')
    .map((projectId) => {
      const quota = quotas.quota(projectId);
      const limits = Object.entries({ ...defaults, ...quota?.limits }).filter(([, limit]) => limit !== UNLIMITED);
      const used = quotas.usage(projectId);
      const share = shareOf.get(projectId);
      return { projectId, used, limits: Object.fromEntries(limits), cohort: quota?.cohort ?? '', share };
    });
}
