import type { Aggregate } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import { addResources, capacityOf, type Inventories, type Inventory, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { getOrMake, lru } from '#libs/runtime/lru';
import { HostProviders } from './host-providers';
import { type HostState, isSameState } from './host-state';
import { leasedRoom } from './leases/leased-room';
import type { PendingClaims } from './pending-claims';
import { type QuarantineOptions, type Quarantines, readQuarantine } from './quarantine';
import type { UnreportedClaims } from './unreported-claims';

export interface ReadOptions extends QuarantineOptions {
  /** Half of a build failure is forgotten after this time. */
  readonly failureHalfLifeMs: number;
  /** Time for which a claim counts as a build in progress when the host has not reported since. */
  readonly claimSettleMs: number;
}

/** Sources of a host's state. */
export interface HostSources {
  readonly view: PlacementView;
  readonly pending: PendingClaims;
  readonly unreported: UnreportedClaims;
  readonly options: ReadOptions;
  /** The hosts in quarantine now. */
  readonly quarantines: () => Quarantines;
}

/** A host read from the mirror: its state, and when time alone will have changed it. */
export interface HostReading {
  readonly state: HostState;
  readonly readAgainAtMs: number | undefined;
}

/**
 * Reads what filters and weighers need to know of a host now; undefined while its root provider is not there. The state is
 * the one `before` when nothing that they look at has changed: most often a claim that counted as pending and is made now.
 */
export function readHost(
  host: Host,
  { index, nowMs, before }: { readonly index: number; readonly nowMs: number; readonly before: HostState | undefined },
  { view, pending, unreported, options, quarantines }: HostSources,
): HostReading | undefined {
  const root = view.provider(host.providerUuid);
  if (!root) return undefined;
  const tree = view.tree(root.uuid);
  const sharing = sharingWith(view, tree);
  const pendingCount = pending.countOn(root.uuid);
  // A report that changes nothing is not committed, hence the limit in time.
  const claims = unreported.newerThan(Math.max(host.updatedAtMs, nowMs - options.claimSettleMs), root.uuid);
  const fadeStep = Math.floor(nowMs / FADE_STEP_MS);
  const recentFailures = fadedFailures(host, fadeStep * FADE_STEP_MS, options.failureHalfLifeMs);
  const untilMs = quarantines().untilMs.get(host.name);
  const quarantine = untilMs === undefined ? undefined : readQuarantine(untilMs, { view, tree, pendingCount }, nowMs);
  const leased = leasedRoom(tree, view, nowMs);
  const providers = tree.length === 1 && sharing.length === 0 ? undefined : providersOf(view, pending, tree, sharing);
  const flatBefore = before?.providers === undefined ? before : undefined;
  const amounts = providers?.amounts();
  const free = amounts?.free ?? rootFree(view, pending, root);
  const state: HostState = {
    index,
    host,
    aggregates: aggregatesOf(view, host),
    root,
    traits: providers
      ? traitSet(providers.all.flatMap(({ traits }) => traits))
      : flatBefore?.root.traits === root.traits
        ? flatBefore.traits
        : traitSet(root.traits),
    inventories:
      amounts?.inventories ??
      (flatBefore?.root.inventories === root.inventories
        ? flatBefore.inventories
        : getOrMake(sharedInventories, JSON.stringify(root.inventories), () => root.inventories)),
    free,
    freeAtOnce: amounts?.freeAtOnce ?? free,
    instances: countConsumers(view, tree) + host.externalInstances + pendingCount,
    buildsInProgress: host.ioOps + claims.count + pendingCount,
    recentFailures,
    quarantine,
    leased: leased.wanted,
    reserved: undefined,
    providers,
  };
  return {
    state: before && isSameState(before, state) ? before : state,
    readAgainAtMs: earliest(
      claims.count > 0 ? settledAtMs(claims.oldestMs, nowMs, options.claimSettleMs) : undefined,
      recentFailures > 0 ? (fadeStep + 1) * FADE_STEP_MS : undefined,
      quarantine && nowMs < quarantine.untilMs ? quarantine.untilMs : undefined,
      leased.endsAtMs,
    ),
  };
}

/** The host aggregates that a host is in. */
export function aggregatesOf(view: Pick<PlacementView, 'aggregate'>, { aggregates }: Host): readonly Aggregate[] {
  if (aggregates.length === 0) return NO_AGGREGATES;
  return aggregates.map((uuid) => view.aggregate(uuid)).filter((aggregate) => aggregate !== undefined);
}

const NO_AGGREGATES: readonly Aggregate[] = [];

/** Failures halve with each half-life; what is left of them below this share of one is forgotten. */
const FORGOTTEN_FAILURE = 0.05;

/** Failures fade in steps of time, so that a host weighs the same whenever in the step it is read. */
const FADE_STEP_MS = 1_000;

function fadedFailures(host: Host, nowMs: number, halfLifeMs: number): number {
  if (host.failures === 0) return 0;
  const left = host.failures * 2 ** (-Math.max(0, nowMs - host.lastFailureAtMs) / halfLifeMs);
  return left < FORGOTTEN_FAILURE ? 0 : left;
}

/** A host with many claims is not read for each of them: some count for up to a quarter of the time longer. */
function settledAtMs(oldestMs: number, nowMs: number, claimSettleMs: number): number {
  return Math.max(oldestMs + claimSettleMs, nowMs + claimSettleMs / 4);
}

function earliest(...timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter((timeMs) => timeMs !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function countConsumers(view: PlacementView, tree: readonly Provider[]): number {
  if (tree.length === 1) return view.consumersOn((tree[0] as Provider).uuid).size;
  const uuids = new Set<string>();
  for (const provider of tree) for (const uuid of view.consumersOn(provider.uuid)) uuids.add(uuid);
  return uuids.size;
}

/** Free amounts of a flat host. */
function rootFree(view: PlacementView, pending: PendingClaims, { uuid, inventories }: Provider): Resources {
  const used = view.usage(uuid);
  const onTheWay = pending.usedOn(uuid);
  const free: Record<string, number> = {};
  for (const name in inventories) {
    free[name] = capacityOf(inventories[name] as Inventory) - (used[name] ?? 0) - (onTheWay?.[name] ?? 0);
  }
  return free;
}

function providersOf(
  view: PlacementView,
  pending: PendingClaims,
  tree: readonly Provider[],
  sharing: readonly Provider[],
): HostProviders {
  const used = new Map<string, Resources>();
  for (const { uuid } of [...tree, ...sharing]) {
    const made = view.usage(uuid);
    const onTheWay = pending.usedOn(uuid);
    used.set(uuid, onTheWay ? addResources(made, onTheWay) : made);
  }
  const others = sharing.flatMap(({ rootUuid }) => view.tree(rootUuid));
  return new HostProviders(tree, sharing, others, used);
}

function sharingWith(view: PlacementView, tree: readonly Provider[]): readonly Provider[] {
  const sharers = view.sharingProviders();
  if (sharers.size === 0) return [];
  const aggregates = new Set(tree.flatMap((provider) => provider.aggregates));
  const own = new Set(tree.map((provider) => provider.uuid));
  return [...sharers]
    .filter((uuid) => !own.has(uuid))
    .map((uuid) => view.provider(uuid))
    .filter((provider) => provider !== undefined)
    .filter((provider) => provider.aggregates.some((aggregate) => aggregates.has(aggregate)));
}

/** Most hosts of a fleet have the same inventories and traits as many others, and share them here: it keeps them in reach. */
const sharedTraits = lru<string, ReadonlySet<string>>(1_000);
const sharedInventories = lru<string, Inventories>(1_000);

function traitSet(traits: readonly string[]): ReadonlySet<string> {
  return getOrMake(sharedTraits, traits.join(' '), () => new Set(traits));
}
