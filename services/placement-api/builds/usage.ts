import { MAX_USAGE_PROJECTS } from '#libs/contracts/limits';
import type { ProjectUsageView } from '#libs/contracts/quotas';
import { invalidArgument } from '#libs/domain/errors';
import { DAY_MS, dayName, dayStart } from '#libs/domain/quotas/utc-day';
import type { Query } from '../http/query';
import type { Answer } from '../http/request';
import { exactly, keyed, list, orNull, type Schema, shortText, text, whole } from '../schemas/parts';
import type { BuildCall } from './build-call';
import { projectOf } from './caller';

const HOUR_S = 3_600;
/** Days before today, unless the request says since when. */
const DEFAULT_DAYS = 30;

/** By resource class, and of `instances`. */
const amounts = keyed('^([A-Z0-9_]+|instances)$', { type: 'number' });
const day: Schema = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\d$' };

/** GET /berth/usage */
export const usageQuery = exactly({ project_id: shortText, since: day, until: day, marker: text });

export const usageSchema = whole({
  since: text,
  until: orNull(text),
  projects: list(
    whole({
      project_id: text,
      unit_hours: amounts,
      days: list(whole({ day: text, unit_seconds: amounts, unit_hours: amounts })),
    }),
  ),
  next_marker: orNull(text),
});

/**
 * GET /berth/usage: what projects held, by UTC day and class, in unit-hours such as VCPU-hours, from the day `since` to the
 * day `until`, both included. The store's own ledger, which the commits of claims count in; today counts up to now.
 *
 * @throws BerthError `invalid_argument / bad_day`.
 */
export async function showUsage({ caller, query, placement, nowMs }: BuildCall): Promise<Answer> {
  const projectId = projectOf(caller, query.last('project_id')) ?? '';
  const sinceMs = dayOf(query, 'since') ?? nowMs - DEFAULT_DAYS * DAY_MS;
  const untilMs = dayOf(query, 'until');
  const [since, until] = [dayName(sinceMs), untilMs === undefined ? undefined : dayName(untilMs)];
  const asked = { projectId, sinceMs, marker: query.last('marker') ?? '', limit: MAX_USAGE_PROJECTS };
  const { projects } = await placement.usage(asked);
  const next = projectId === '' && projects.length === MAX_USAGE_PROJECTS ? projects.at(-1)?.projectId : undefined;
  const shown = projects.map((project) => usageJson(project, until));
  return { status: 200, body: { since, until: until ?? null, projects: shown, next_marker: next ?? null } };
}

function usageJson({ projectId, days: all }: ProjectUsageView, until: string | undefined) {
  const days = all.filter((one) => until === undefined || one.day <= until);
  const total: Record<string, number> = {};
  for (const { unitSeconds } of days) {
    for (const [name, seconds] of Object.entries(unitSeconds)) total[name] = (total[name] ?? 0) + seconds;
  }
  return {
    project_id: projectId,
    unit_hours: inHours(total),
    days: days.map(({ day: name, unitSeconds }) => {
      return { day: name, unit_seconds: unitSeconds, unit_hours: inHours(unitSeconds) };
    }),
  };
}

function inHours(seconds: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(seconds).map(([name, amount]) => [name, amount / HOUR_S]));
}

function dayOf(query: Query, name: 'since' | 'until'): number | undefined {
  const said = query.last(name);
  if (said === undefined) return undefined;
  const ms = dayStart(said);
  if (ms !== undefined) return ms;
  throw invalidArgument('bad_day', `${name} must be a day such as 2026-11-01, not '${said}'`, name);
}
