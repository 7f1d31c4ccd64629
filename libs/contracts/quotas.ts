import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { isClassOrTraitName, requireVisibleName } from '../domain/names';
import { requireResourceClass } from '../domain/naming/known-names';
import { PRIORITY_LIMIT, RECLAIM_LIMIT } from '../domain/queueing/admission';
import { INSTANCES, MAX_LIMIT, type QuotaExcess, UNLIMITED } from '../domain/quotas/quota';
import {
  badName,
  list,
  missing,
  name,
  pageLimit,
  pairs,
  projectId,
  requiredName,
  requiredProjectId,
  whole,
  word,
} from './checks';
import { codec, type Method, type Mutable } from './codec';
import { MAX_PAGE, MAX_RESOURCE_CLASSES, MAX_USAGE_DAYS, MAX_USAGE_PROJECTS } from './limits';
import type {
  ListQuotasRequest,
  ListQuotasResponse,
  ListUsageRequest,
  ListUsageResponse,
  ProjectQuotaView,
  ProjectUsageView,
  QuotaAnswer,
  SetQuotaRequest,
  UnsetQuotaRequest,
} from './messages';

const wire = berth.quota.v1;

/** To `rpc.scheduler`: what projects may hold and hold. */
export const listQuotasMethod: Method<ListQuotasRequest, ListQuotasResponse> = {
  request: codec(
    'berth.quota.v1.ListQuotasRequest',
    wire.ListQuotasRequest,
    (request) => request,
    (request) => ({
      projectId: projectId(request.projectId, 'project_id'),
      marker: projectId(request.marker, 'marker'),
      limit: pageLimit(request.limit, 'limit', MAX_PAGE, MAX_PAGE),
    }),
  ),
  response: codec(
    'berth.quota.v1.ListQuotasResponse',
    wire.ListQuotasResponse,
    ({ projects, defaultLimits }) => ({ projects: projects as Mutable<ProjectQuotaView>[], defaultLimits }),
    (response) => ({
      projects: list(response.projects, 'projects', MAX_PAGE, quotaFromWire),
      defaultLimits: limits(response.defaultLimits, 'default_limits', UNLIMITED),
    }),
  ),
};

/** To `rpc.scheduler`: sets limits. For operators. */
export const setQuotaMethod: Method<SetQuotaRequest, QuotaAnswer> = {
  request: codec(
    'berth.quota.v1.SetQuotaRequest',
    wire.SetQuotaRequest,
    ({ cohort = null, lendLimits = {}, ...request }) => ({ ...request, lendLimits, cohort }),
    (request) => {
      const subject = subjectFromWire(request);
      return {
        ...subject,
        projectId: requireVisibleName(subject.projectId, 'project_id'),
        limits: newLimits(request.limits, 'limits', UNLIMITED),
        borrowLimits: newLimits(request.borrowLimits, 'borrow_limits', 0),
        lendLimits: newLimits(request.lendLimits, 'lend_limits', 0),
        cohort: request.cohort == null ? undefined : requireVisibleName(name(request.cohort, 'cohort'), 'cohort'),
      };
    },
  ),
  response: answerCodec('berth.quota.v1.SetQuotaResponse', wire.SetQuotaResponse),
};

/** To `rpc.scheduler`: takes limits away. For operators. */
export const unsetQuotaMethod: Method<UnsetQuotaRequest, QuotaAnswer> = {
  request: codec(
    'berth.quota.v1.UnsetQuotaRequest',
    wire.UnsetQuotaRequest,
    ({ classes, ...request }) => ({ ...request, classes: classes as string[] }),
    (request) => ({
      ...subjectFromWire(request),
      classes: list(request.classes, 'classes', MAX_RESOURCE_CLASSES, limitName),
    }),
  ),
  response: answerCodec('berth.quota.v1.UnsetQuotaResponse', wire.UnsetQuotaResponse),
};

/** To `rpc.scheduler`: what projects have held, day by day. */
export const listUsageMethod: Method<ListUsageRequest, ListUsageResponse> = {
  request: codec(
    'berth.quota.v1.ListUsageRequest',
    wire.ListUsageRequest,
    (request) => request,
    (request) => ({
      projectId: projectId(request.projectId, 'project_id'),
      sinceMs: whole(request.sinceMs, 'since_ms'),
      marker: projectId(request.marker, 'marker'),
      limit: pageLimit(request.limit, 'limit', MAX_USAGE_PROJECTS, MAX_USAGE_PROJECTS),
    }),
  ),
  response: codec(
    'berth.quota.v1.ListUsageResponse',
    wire.ListUsageResponse,
    ({ projects }) => ({ projects: projects as Mutable<ProjectUsageView>[] as berth.quota.v1.IProjectUsage[] }),
    ({ projects }) => ({ projects: list(projects, 'projects', MAX_USAGE_PROJECTS, usageFromWire) }),
  ),
};

export function excessFromWire(value: berth.quota.v1.IQuotaExcess, field: string): QuotaExcess {
  const excess = value as berth.quota.v1.QuotaExcess;
  return {
    scope: word(excess.scope, ['project', 'cohort'], `${field}.scope`),
    name: name(excess.name, `${field}.name`),
    resourceClass: requiredName(excess.resourceClass, `${field}.resource_class`),
    used: excess.used,
    asked: excess.asked,
    limit: excess.limit,
  };
}

function answerCodec(type: string, message: typeof wire.SetQuotaResponse) {
  return codec(
    type,
    message,
    ({ quota }: QuotaAnswer) => ({ quota: quota as Mutable<ProjectQuotaView> }),
    ({ quota }) => ({ quota: quotaFromWire(quota, 'quota') }),
  );
}

function subjectFromWire(request: Pick<UnsetQuotaRequest, 'projectId' | 'isDefault' | 'version'>) {
  const { isDefault } = request;
  const id = isDefault
    ? projectId(request.projectId, 'project_id')
    : requiredProjectId(request.projectId, 'project_id');
  if (isDefault && id !== '') {
    throw invalidArgument('project_and_default', 'project_id and is_default exclude each other', 'project_id');
  }
  return { projectId: id, isDefault, version: whole(request.version, 'version') };
}

function quotaFromWire(value: berth.quota.v1.IProjectQuota | null | undefined, field: string): ProjectQuotaView {
  if (!value) throw missing(field);
  const quota = value as berth.quota.v1.ProjectQuota;
  return {
    projectId: projectId(quota.projectId, `${field}.project_id`),
    version: whole(quota.version, `${field}.version`),
    limits: limits(quota.limits, `${field}.limits`, UNLIMITED),
    borrowLimits: limits(quota.borrowLimits, `${field}.borrow_limits`, 0),
    lendLimits: limits(quota.lendLimits, `${field}.lend_limits`, 0),
    cohort: name(quota.cohort, `${field}.cohort`),
    updatedAtMs: whole(quota.updatedAtMs, `${field}.updated_at_ms`),
    used: pairs(quota.used, `${field}.used`, (amount) => amount),
  };
}

function usageFromWire(value: berth.quota.v1.IProjectUsage, field: string): ProjectUsageView {
  const usage = value as berth.quota.v1.ProjectUsage;
  return {
    projectId: projectId(usage.projectId, `${field}.project_id`),
    days: list(usage.days, `${field}.days`, MAX_USAGE_DAYS, (one, at) => {
      const { day, unitSeconds } = one as berth.quota.v1.UsageDay;
      return { day: requiredName(day, `${at}.day`), unitSeconds: pairs(unitSeconds, at, (amount) => amount) };
    }),
  };
}

/** What is set: of classes that there may be. What was set before is shown, and taken away, whatever it is on. */
function newLimits(values: Readonly<Record<string, number>>, field: string, least: number) {
  for (const one in limits(values, field, least)) if (!OTHER_LIMITS.includes(one)) requireResourceClass(one, field);
  return values;
}

/** Limits by resource class, and of `instances`. */
function limits(values: Readonly<Record<string, number>>, field: string, least: number) {
  const names = Object.keys(values);
  list(names, field, MAX_RESOURCE_CLASSES, limitName);
  for (const one of names) {
    const limit = values[one] as number;
    if (Number.isSafeInteger(limit) && limit >= least && limit <= MAX_LIMIT) continue;
    const message = `${field}.${one} must be a whole number from ${least} to ${MAX_LIMIT}, not ${limit}`;
    throw invalidArgument('bad_amount', message, `${field}.${one}`);
  }
  return values;
}

function limitName(value: string, field: string): string {
  if (OTHER_LIMITS.includes(value) || isClassOrTraitName(value)) return value;
  throw badName(field, value, `a resource class, or one of ${OTHER_LIMITS.join(', ')}`);
}

/** What a limit may be on besides resource classes. */
export const OTHER_LIMITS: readonly string[] = [INSTANCES, PRIORITY_LIMIT, RECLAIM_LIMIT];
