import { capacityOf, type Resources } from '#libs/domain/inventory';
import { WEIGHT_LIMIT } from '#libs/domain/queueing/admission';
import {
  DEFAULT_WEIGHT,
  dominantShare,
  type FairShares,
  type ProjectShare,
  unusedShare,
} from '#libs/domain/queueing/fair-share';
import { type RecentUse, recentUseAt, type UseLedger } from '#libs/domain/quotas/recent-use';
import { DAY_MS } from '#libs/domain/quotas/utc-day';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';

export interface ShareDeps {
  readonly placement: Pick<PlacementStore, 'projectUsages' | 'projectDays' | 'recentUses'>;
  readonly mirror: Pick<PlacementView, 'providers' | 'quotas'>;
  readonly halfLifeMs: number;
}

/** Recent use of projects at a time, beside the samples in the store. */
export interface ReadUses {
  readonly uses: readonly RecentUse[];
  /** Those of them that differ from the last sample by more than time. */
  readonly changed: readonly RecentUse[];
  /** Projects with a sample of which nothing is counted any more. */
  readonly forgotten: readonly string[];
}

/**
 * Recent use of all projects, from the store alone: every scheduler has the same of the same rows at the same time.
 */
export async function readRecentUses({ placement, halfLifeMs }: ShareDeps, nowMs: number): Promise<ReadUses> {
  // In this order: a ledger is never older than the sample that it is compared with.
  const samples = new Map((await placement.recentUses()).map((sample) => [sample.projectId, sample]));
  const ledgers = await placement.projectUsages();
  const isFromBefore = ({ atMs }: RecentUse) => Math.floor(atMs / DAY_MS) < Math.floor(nowMs / DAY_MS);
  const older = ledgers.filter(({ projectId }) => {
    const sample = samples.get(projectId);
    return sample === undefined || isFromBefore(sample);
  });
  // A day that is settled in between is in both, and counts once.
  const settled = await placement.projectDays(older.map(({ projectId }) => projectId));
  const uses: RecentUse[] = [];
  const changed: RecentUse[] = [];
  for (const { projectId, used, atMs, days } of ledgers) {
    const ledger: UseLedger = { projectId, used, atMs, days: { ...days, ...settled.get(projectId) } };
    const sample = samples.get(projectId);
    samples.delete(projectId);
    const use = recentUseAt(sample, ledger, { nowMs, halfLifeMs });
    uses.push(use);
    if (sample === undefined || atMs > sample.atMs || isFromBefore(sample) || nowMs < sample.atMs) changed.push(use);
  }
  return { uses, changed, forgotten: [...samples.keys()] };
}

/** Shares of the projects that use, used lately or have a weight. */
export async function readFairShares(deps: ShareDeps, capacity: Resources, nowMs: number): Promise<FairShares> {
  const { uses } = await readRecentUses(deps, nowMs);
  const { quotas } = deps.mirror;
  const projects = new Map<string, ProjectShare>();
  for (const { projectId, held, averages, gainedAtMs } of uses) {
    const [now, lately] = [dominantShare(held, capacity), dominantShare(averages, capacity)];
    projects.set(projectId, {
      projectId,
      weight: weightOf(projectId, quotas),
      now: now.share,
      lately: lately.share,
      nowClass: now.resourceClass,
      latelyClass: lately.resourceClass,
      gainedAtMs,
    });
  }
  const unknown = (id: string) => unusedShare(id, weightOf(id, quotas));
  return { atMs: nowMs, halfLifeMs: deps.halfLifeMs, capacity, projects, unknown };
}

/** A project's weight: its own, the default's, or 1. */
export function weightOf(projectId: string, quotas: PlacementView['quotas']): number {
  return quotas.quota(projectId)?.limits[WEIGHT_LIMIT] ?? quotas.defaultQuota()?.limits[WEIGHT_LIMIT] ?? DEFAULT_WEIGHT;
}

/** Capacity of all providers, of hosts that are down, too: shares should not jump while one is restarted. */
export function fleetCapacity(mirror: Pick<PlacementView, 'providers'>): Resources {
  const capacity: Record<string, number> = {};
  for (const { inventories } of mirror.providers()) {
    for (const [name, inventory] of Object.entries(inventories)) {
      capacity[name] = (capacity[name] ?? 0) + capacityOf(inventory);
    }
  }
  return capacity;
}
