import type { ListUsageRequest, ListUsageResponse, ProjectUsageView } from '../contracts/quotas';
import { indexAfter } from '../domain/names';
import { DAY_MS, dayName } from '../domain/quotas/utc-day';
import { daysUntil } from '../placement/commands/claims/use-over-time';
import type { PlacementStore, ProjectUsage } from '../placement/port/placement-store';

/**
 * Usage of projects from the day of `sinceMs` up to now, by day, in unit-seconds, such as VCPU-seconds. Read from the store
 * itself, where the commits that change a project's usage count it.
 */
export async function listUsage(
  { projectId, sinceMs, marker, limit }: ListUsageRequest,
  placement: Pick<PlacementStore, 'projectUsages' | 'projectDays'>,
  nowMs: number,
): Promise<ListUsageResponse> {
  // In this order: a day that is settled in between is in both, and counts once.
  const present = new Map((await placement.projectUsages()).map((usage) => [usage.projectId, usage]));
  const names = [...present.keys()].sort();
  const from = indexAfter(names, marker);
  const wanted = projectId === '' ? names.slice(from, from + limit) : [projectId].filter((id) => present.has(id));
  const settled = await placement.projectDays(wanted);
  const firstDay = Math.floor(sinceMs / DAY_MS);
  const projects = wanted.map((id): ProjectUsageView => {
    const days = { ...daysUntil(present.get(id) as ProjectUsage, nowMs), ...settled.get(id) };
    return { projectId: id, days: daysFrom(firstDay, days) };
  });
  return { projects };
}

function daysFrom(firstDay: number, days: ProjectUsage['days']): ProjectUsageView['days'] {
  return Object.entries(days)
    .map(([day, amounts]) => [Number(day), amounts] as const)
    .filter(([day]) => day >= firstDay)
    .sort(([a], [b]) => a - b)
    .map(([day, amounts]) => ({ day: dayName(day * DAY_MS), unitSeconds: inSeconds(amounts) }));
}

function inSeconds(amounts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(amounts).map(([name, unitMs]) => [name, unitMs / 1_000]));
}
