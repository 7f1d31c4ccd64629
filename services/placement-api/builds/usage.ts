import { MAX_USAGE_PROJECTS } from '#libs/contracts/limits';
import { type ProjectUsageView, USAGE_BY, type UsageBy, type UsageShareView } from '#libs/contracts/quotas';
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
export const usageQuery = exactly({
  project_id: shortText,
  since: day,
  until: day,
  by: { type: 'string', pattern: `^(${USAGE_BY.join('|')})(,(${USAGE_BY.join('|')}))*$` },
  marker: text,
});

const days = list(whole({ day: text, unit_seconds: amounts, unit_hours: amounts }));

export const usageSchema = whole({
  since: text,
  until: orNull(text),
  projects: list(
    whole({
      project_id: text,
      unit_hours: amounts,
      days,
    }),
  ),
  shares: list(
    whole({
      project_id: text,
      user_id: orNull(text),
      flavor: orNull(text),
      instance_uuid: orNull(text),
      unit_hours: amounts,
      days,
    }),
  ),
  next_marker: orNull(text),
});

/**
 * GET /berth/usage: what projects held, by UTC day and class, in unit-hours such as VCPU-hours, from the day `since` to the
 * day `until`, both included. The store's own ledger, which the commits of claims count in; today counts up to now. With
 * `by` it is shared out by user, flavor or instance, and shares sum to the projects' usage.
 *
 * @throws BerthError `invalid_argument / bad_day`, `/ bad_marker`.
 */
export async function showUsage({ caller, query, placement, nowMs }: BuildCall): Promise<Answer> {
  const projectId = projectOf(caller, query.last('project_id')) ?? '';
  const sinceMs = dayOf(query, 'since') ?? nowMs - DEFAULT_DAYS * DAY_MS;
  const untilMs = dayOf(query, 'until');
  const [since, until] = [dayName(sinceMs), untilMs === undefined ? undefined : dayName(untilMs)];
  const by = (query.last('by')?.split(',') ?? []) as UsageBy[];
  const marker = query.last('marker') ?? '';
  const markers = by.length === 0 ? { marker, shareMarker: '' } : { marker: '', shareMarker: marker };
  const limits = { untilMs: untilMs ?? 0, limit: MAX_USAGE_PROJECTS };
  const page = await placement.usage({ projectId, sinceMs, by: [...new Set(by)], ...markers, ...limits });
  const { projects } = page;
  const isFull = projectId === '' && projects.length === MAX_USAGE_PROJECTS;
  const next = by.length > 0 ? page.nextMarker : isFull ? projects.at(-1)?.projectId : '';
  const body = {
    since,
    until: until ?? null,
    projects: projects.map((project) => ({ project_id: project.projectId, ...usageJson(project) })),
    shares: page.shares.map(shareJson),
    next_marker: next || null,
  };
  return { status: 200, body };
}

function shareJson(share: UsageShareView) {
  const { projectId, userId, flavor, instanceUuid } = share;
  return {
    project_id: projectId,
    user_id: userId || null,
    flavor: flavor || null,
    instance_uuid: instanceUuid || null,
    ...usageJson(share),
  };
}

function usageJson({ days: all }: Pick<ProjectUsageView, 'days'>) {
  const total: Record<string, number> = {};
  for (const { unitSeconds } of all) {
    for (const [name, seconds] of Object.entries(unitSeconds)) total[name] = (total[name] ?? 0) + seconds;
  }
  return {
    unit_hours: inHours(total),
    days: all.map(({ day: name, unitSeconds }) => {
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
