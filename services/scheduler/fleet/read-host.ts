import type { Host } from '#libs/domain/host';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/view';
import type { HostState } from './host-state';
import type { PendingClaims } from './pending-claims';
import type { SettlingClaims } from './settling-claims';

export interface ReadOptions {
  /** Half of a build failure is forgotten after this time. */
  readonly failureHalfLifeMs: number;
  /** How long a claim counts as a build in progress when the host has not reported since. */
  readonly claimSettleMs: number;
}

/** What is read of a host, and how. */
export interface HostSources {
  readonly view: PlacementView;
  readonly pending: PendingClaims;
  readonly settling: SettlingClaims;
  readonly options: ReadOptions;
}

/** A host read from the mirror: its state, the providers behind it, and when time alone will have changed it. */
export interface HostReading {
  readonly state: HostState;
  /** Root first, then the rest of the tree, then those that share with it. */
  readonly providers: readonly Provider[];
  readonly sharing: readonly Provider[];
  readonly readAgainAtMs: number | undefined;
}

/** Reads what filters and weighers need to know of a host now; undefined while its root provider is not there. */
export function readHost(
  host: Host,
  index: number,
  nowMs: number,
  { view, pending, settling: claims, options }: HostSources,
): HostReading | undefined {
  const root = view.provider(host.providerUuid);
  if (!root) return undefined;
  const tree = view.tree(root.uuid);
  const sharing = sharingWith(view, tree);
  const onTheWay = pending.countOn(root.uuid);
  // A report that changes nothing is no news, hence the limit in time.
  const settling = claims.newerThan(Math.max(host.updatedAtMs, nowMs - options.claimSettleMs), root.uuid);
  const fadeStep = Math.floor(nowMs / FADE_STEP_MS);
  const recentFailures = fadedFailures(host, fadeStep * FADE_STEP_MS, options.failureHalfLifeMs);
  return {
    state: {
      index,
      host,
      root,
      isFlat: tree.length === 1 && sharing.length === 0,
      instances: countConsumers(view, tree) + host.externalInstances + onTheWay,
      buildsInProgress: host.ioOps + settling.count + onTheWay,
      recentFailures,
    },
    providers: sharing.length > 0 ? [...tree, ...sharing] : tree,
    sharing,
    readAgainAtMs: earliest(
      settling.count > 0 ? settledAtMs(settling.oldestMs, nowMs, options.claimSettleMs) : undefined,
      recentFailures > 0 ? (fadeStep + 1) * FADE_STEP_MS : undefined,
    ),
  };
}

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

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

function countConsumers(view: PlacementView, tree: readonly Provider[]): number {
  if (tree.length === 1) return view.consumersOn((tree[0] as Provider).uuid).size;
  const uuids = new Set<string>();
  for (const provider of tree) for (const uuid of view.consumersOn(provider.uuid)) uuids.add(uuid);
  return uuids.size;
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
