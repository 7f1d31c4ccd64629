import { MAX_USAGE_AMOUNTS } from '../contracts/limits';
import type { ListUsageRequest, ListUsageResponse, ProjectUsageView, UsageShareView } from '../contracts/quotas';
import type { Resources } from '../domain/inventory';
import { indexAfter } from '../domain/names';
import { DAY_MS, dayName } from '../domain/quotas/utc-day';
import { daysUntil } from '../placement/commands/claims/use-over-time';
import type { Mirror } from '../placement/mirror/mirror';
import type { PlacementStore, ProjectUsage } from '../placement/port/placement-store';
import { compareShares, markerOf, readMarker, type ShareKey } from './share-key';
import { sharesOf } from './usage-shares';

export interface UsageDeps {
  readonly placement: Pick<PlacementStore, 'projectUsages' | 'projectDays' | 'endedUsage'>;
  readonly mirror: Pick<Mirror, 'consumer' | 'consumersOf'>;
}

/**
 * Usage of projects from the day of `sinceMs` up to that of `untilMs`, or now, by day, in unit-seconds, such as VCPU-seconds.
 * Read from the store itself, where the commits that change a project's usage count it. Asked `by` user, flavor or instance,
 * it is shared out among these; what is not known of them any more is a share of its own, so shares sum to the project's.
 */
export async function listUsage(asked: ListUsageRequest, deps: UsageDeps, nowMs: number): Promise<ListUsageResponse> {
  return asked.by.length === 0 ? listProjects(asked, deps, nowMs) : listShares(asked, deps, nowMs);
}

async function listProjects(asked: ListUsageRequest, deps: UsageDeps, nowMs: number): Promise<ListUsageResponse> {
  const { projectId, marker, limit } = asked;
  // In this order: a day that is settled in between is in both, and counts once.
  const present = await usagesByProject(deps);
  const names = [...present.keys()].sort();
  const from = indexAfter(names, marker);
  const wanted = projectId === '' ? names.slice(from, from + limit) : [projectId].filter((id) => present.has(id));
  const settled = await deps.placement.projectDays(wanted);
  const projects = wanted.map((id): ProjectUsageView => {
    const days = { ...daysUntil(present.get(id) as ProjectUsage, nowMs), ...settled.get(id) };
    return { projectId: id, days: daysOf(days, asked) };
  });
  return { projects, shares: [], nextMarker: '' };
}

/** A page of shares: as many as are asked for, or as few as have `MAX_USAGE_AMOUNTS`, one at least. */
async function listShares(asked: ListUsageRequest, deps: UsageDeps, nowMs: number): Promise<ListUsageResponse> {
  const after = readMarker(asked.shareMarker);
  // Present holdings are read before ended ones: an end in between is in both, and counts once.
  const open = (id: string) => [...deps.mirror.consumersOf(id)].flatMap((uuid) => deps.mirror.consumer(uuid) ?? []);
  const present = await usagesByProject(deps);
  const names = [...present.keys()].sort();
  const wanted = names.filter((id) =>
    asked.projectId === '' ? id >= (after?.projectId ?? '') : id === asked.projectId,
  );
  const shares: UsageShareView[] = [];
  let amounts = 0;
  for (const id of wanted) {
    const consumers = open(id);
    const ended = await deps.placement.endedUsage(id);
    const settled = (await deps.placement.projectDays([id])).get(id);
    const ledger = { ...daysUntil(present.get(id) as ProjectUsage, nowMs), ...settled };
    for (const [key, days] of sharesOf(id, { consumers, ended, ledger }, { by: asked.by, nowMs })) {
      if (after !== undefined && compareShares(key, after) <= 0) continue;
      const share = { ...key, days: daysOf(days, asked) };
      if (share.days.length === 0) continue;
      const more = share.days.reduce((sum, { unitSeconds }) => sum + Object.keys(unitSeconds).length, 0);
      const isFull = shares.length >= asked.limit || (shares.length > 0 && amounts + more > MAX_USAGE_AMOUNTS);
      if (isFull) return { projects: [], shares, nextMarker: markerOf(shares.at(-1) as ShareKey) };
      amounts += more;
      shares.push(share);
    }
  }
  return { projects: [], shares, nextMarker: '' };
}

async function usagesByProject({ placement }: UsageDeps): Promise<Map<string, ProjectUsage>> {
  return new Map((await placement.projectUsages()).map((usage) => [usage.projectId, usage]));
}

function daysOf(days: ProjectUsage['days'], { sinceMs, untilMs }: ListUsageRequest): ProjectUsageView['days'] {
  const first = Math.floor(sinceMs / DAY_MS);
  const last = untilMs === 0 ? Infinity : Math.floor(untilMs / DAY_MS);
  return Object.entries(days)
    .map(([day, amounts]) => [Number(day), amounts] as const)
    .filter(([day]) => day >= first && day <= last)
    .sort(([a], [b]) => a - b)
    .map(([day, amounts]) => ({ day: dayName(day * DAY_MS), unitSeconds: inSeconds(amounts) }));
}

function inSeconds(amounts: Resources): Record<string, number> {
  return Object.fromEntries(Object.entries(amounts).map(([name, unitMs]) => [name, unitMs / 1_000]));
}
