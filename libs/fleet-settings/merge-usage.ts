import type { ListUsageRequest, ListUsageResponse, UsageDayView, UsageShareView } from '../contracts/quotas';
import { compareShares, markerOf, readMarker, type ShareKey } from './share-key';

/**
 * The answers of several cells to one page as one: usage of a project, or of a share of it, is the sum over the cells. A page
 * ends where the first of the cells' pages ends, so that what follows is whole.
 */
export function mergeUsage(asked: ListUsageRequest, answers: readonly ListUsageResponse[]): ListUsageResponse {
  if (asked.by.length === 0) return { projects: mergeProjects(asked, answers), shares: [], nextMarker: '' };
  const bounds = answers.flatMap(({ nextMarker }) => readMarker(nextMarker) ?? []).sort(compareShares);
  const [bound] = bounds;
  const merged = new Map<string, UsageShareView>();
  for (const share of answers.flatMap(({ shares }) => shares)) {
    if (bound !== undefined && compareShares(share, bound) > 0) continue;
    const key = markerOf(share);
    const present = merged.get(key);
    merged.set(key, present ? { ...present, days: mergeDays(present.days, share.days) } : share);
  }
  const sorted = [...merged.values()].sort(compareShares);
  const shares = sorted.slice(0, asked.limit);
  const last: ShareKey | undefined = sorted.length > shares.length ? shares.at(-1) : bound;
  return { projects: [], shares, nextMarker: last === undefined ? '' : markerOf(last) };
}

/** At most `limit` of them: the next page begins after the last. */
function mergeProjects({ limit }: ListUsageRequest, answers: readonly ListUsageResponse[]) {
  const days = new Map<string, readonly UsageDayView[]>();
  for (const { projectId, days: more } of answers.flatMap(({ projects }) => projects)) {
    days.set(projectId, mergeDays(days.get(projectId) ?? [], more));
  }
  // A cell's own page is as long, so the first of all are in it.
  return [...days.keys()]
    .sort()
    .slice(0, limit)
    .map((projectId) => ({ projectId, days: days.get(projectId) ?? [] }));
}

function mergeDays(a: readonly UsageDayView[], b: readonly UsageDayView[]): readonly UsageDayView[] {
  const days = new Map<string, Record<string, number>>();
  for (const { day, unitSeconds } of [...a, ...b]) {
    const sum = days.get(day) ?? {};
    for (const [name, amount] of Object.entries(unitSeconds)) sum[name] = (sum[name] ?? 0) + amount;
    days.set(day, sum);
  }
  return [...days.keys()].sort().map((day) => ({ day, unitSeconds: days.get(day) ?? {} }));
}
