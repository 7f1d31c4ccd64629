import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { isClassOrTraitName, requireVisibleName } from '../domain/names';
import { requireResourceClass } from '../domain/naming/known-names';
import { MAX_WEIGHT, OTHER_LIMITS, WEIGHT_LIMIT } from '../domain/queueing/admission';
import { MAX_LIMIT, UNLIMITED } from '../domain/quotas/quota';
import { badName, missing, name, projectId, requiredName, tooMany, whole } from './checks';
import { type FieldRules, ruled, rulesOf } from './field-rules';
import { anyText, count, flag, list, map, omittable, oneOf, pageLimit, present } from './fields';
import { MAX_PAGE, MAX_RESOURCE_CLASSES, MAX_USAGE_DAYS, MAX_USAGE_PROJECTS } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofServices, ofTenants } from './message-rules';

const wire = berth.quota.v1;
type Limits = Readonly<Record<string, number>>;

const limitName = ruled({ required: true, format: 'limit_name' }, (value: string, path: string): string => {
  if (OTHER_LIMITS.includes(value) || isClassOrTraitName(value)) return value;
  throw badName(path, value, `a resource class, or one of ${OTHER_LIMITS.join(', ')}`);
});

/** A limit that a decision would exceed. */
export const quotaExcess = message(wire.QuotaExcess, {
  scope: oneOf(['project', 'cohort']),
  name,
  resourceClass: requiredName,
  used: count,
  asked: count,
  limit: count,
});

/** A project's quota, and what it holds; of version 0 when it has none of its own. `cohort` is '' for none. */
const projectQuota = message(wire.ProjectQuota, {
  projectId,
  version: whole,
  limits: limits(UNLIMITED),
  borrowLimits: limits(0),
  lendLimits: omittable(limits(0)),
  cohort: name,
  updatedAtMs: whole,
  used: map(count),
});
export type ProjectQuotaView = PlainOf<typeof projectQuota>;

/** To `rpc.scheduler`: what projects may hold and hold. */
export const listQuotasMethod = {
  request: message(
    wire.ListQuotasRequest,
    { projectId, marker: projectId, limit: pageLimit(MAX_PAGE, MAX_PAGE) },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.ListQuotasResponse, {
    projects: list(projectQuota, MAX_PAGE),
    defaultLimits: limits(UNLIMITED),
  }),
};
export type ListQuotasRequest = PlainOf<typeof listQuotasMethod.request>;
export type ListQuotasResponse = PlainOf<typeof listQuotasMethod.response>;

/** A project, or all that have no quota of their own. */
const aboutQuota = { projectId, isDefault: flag, version: whole };

/** To `rpc.scheduler`: sets limits. For operators. */
export const setQuotaMethod = {
  request: message(
    wire.SetQuotaRequest,
    {
      ...aboutQuota,
      limits: newLimits(UNLIMITED),
      borrowLimits: newLimits(0),
      lendLimits: omittable(newLimits(0)),
      /** Undefined leaves it, '' takes the project out of its cohort. */
      cohort: present(name),
    },
    {
      rule: ofServices(MANY),
      check(request) {
        checkSubject(request);
        requireVisibleName(request.projectId, 'project_id');
      },
    },
  ),
  response: message(wire.SetQuotaResponse, { quota: projectQuota }),
};
export type SetQuotaRequest = PlainOf<typeof setQuotaMethod.request>;

/** To `rpc.scheduler`: takes limits away. For operators. */
export const unsetQuotaMethod = {
  request: message(
    wire.UnsetQuotaRequest,
    { ...aboutQuota, classes: list(limitName, MAX_RESOURCE_CLASSES) },
    { rule: ofServices(FEW), check: checkSubject },
  ),
  response: message(wire.UnsetQuotaResponse, { quota: projectQuota }),
};
export type UnsetQuotaRequest = PlainOf<typeof unsetQuotaMethod.request>;

const usageDay = message(wire.UsageDay, { day: requiredName, unitSeconds: map(count) });

const projectUsage = message(wire.ProjectUsage, { projectId, days: list(usageDay, MAX_USAGE_DAYS) });
export type ProjectUsageView = PlainOf<typeof projectUsage>;

/** Shares of usage. */
export const USAGE_BY = ['user', 'flavor', 'instance'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

const usageShare = message(wire.UsageShare, {
  projectId,
  userId: projectId,
  flavor: name,
  instanceUuid: name,
  days: list(usageDay, MAX_USAGE_DAYS),
});
export type UsageShareView = PlainOf<typeof usageShare>;
export type UsageDayView = UsageShareView['days'][number];

/** To `rpc.scheduler`: what projects have held, day by day. */
export const listUsageMethod = {
  request: message(
    wire.ListUsageRequest,
    {
      projectId,
      sinceMs: whole,
      marker: projectId,
      limit: pageLimit(MAX_USAGE_PROJECTS, MAX_USAGE_PROJECTS),
      by: list(oneOf(USAGE_BY), USAGE_BY.length),
      untilMs: whole,
      shareMarker: anyText,
    },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.ListUsageResponse, {
    projects: list(projectUsage, MAX_USAGE_PROJECTS),
    shares: list(usageShare, MAX_USAGE_PROJECTS),
    nextMarker: anyText,
  }),
};
export type ListUsageRequest = PlainOf<typeof listUsageMethod.request>;
export type ListUsageResponse = PlainOf<typeof listUsageMethod.response>;

/** A project's use of the fleet, by its scarcest class. */
export const fairShare = message(wire.FairShare, {
  projectId,
  weight: whole,
  now: count,
  nowClass: name,
  lately: count,
  latelyClass: name,
  gainedAtMs: whole,
  rank: count,
});
export type FairShareView = PlainOf<typeof fairShare>;

/** To `rpc.scheduler`: what projects use and used lately, for their places among those who wait. */
export const listFairSharesMethod = {
  request: message(
    wire.ListFairSharesRequest,
    { projectId, marker: projectId, limit: pageLimit(MAX_PAGE, MAX_PAGE) },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.ListFairSharesResponse, {
    halfLifeMs: whole,
    atMs: whole,
    shares: list(fairShare, MAX_PAGE),
    capacity: map(count),
    defaultWeight: whole,
  }),
};
export type ListFairSharesRequest = PlainOf<typeof listFairSharesMethod.request>;
export type ListFairSharesResponse = PlainOf<typeof listFairSharesMethod.response>;

function checkSubject({ projectId: id, isDefault }: { readonly projectId: string; readonly isDefault: boolean }): void {
  if (!isDefault && id === '') throw missing('project_id');
  if (!isDefault || id === '') return;
  throw invalidArgument('project_and_default', 'project_id and is_default exclude each other', 'project_id');
}

/** New limits: only of classes that can exist. Old ones are shown and removed, whatever their class. */
function newLimits(least: number) {
  const check = limits(least);
  return ruled(rulesOf(check) ?? {}, (values: Limits, path: string): Limits => {
    for (const one in check(values, path)) if (!OTHER_LIMITS.includes(one)) requireResourceClass(one, path);
    const weight = values[WEIGHT_LIMIT];
    if (weight === undefined || (weight >= 1 && weight <= MAX_WEIGHT)) return values;
    const problem = `${path}.${WEIGHT_LIMIT} must be a whole number from 1 to ${MAX_WEIGHT}, not ${weight}`;
    throw invalidArgument('bad_amount', problem, `${path}.${WEIGHT_LIMIT}`);
  });
}

/** Limits by resource class, and of `instances`. */
function limits(least: number) {
  const rules: FieldRules = {
    maxPairs: MAX_RESOURCE_CLASSES,
    keys: { required: true, format: 'limit_name' },
    values: { gte: least, lte: MAX_LIMIT },
  };
  return ruled(rules, (values: Limits, path: string): Limits => {
    const names = Object.keys(values);
    if (names.length > MAX_RESOURCE_CLASSES) throw tooMany(path, MAX_RESOURCE_CLASSES);
    for (const [index, one] of names.entries()) limitName(one, `${path}[${index}]`);
    for (const one of names) {
      const limit = values[one] as number;
      if (Number.isSafeInteger(limit) && limit >= least && limit <= MAX_LIMIT) continue;
      const problem = `${path}.${one} must be a whole number from ${least} to ${MAX_LIMIT}, not ${limit}`;
      throw invalidArgument('bad_amount', problem, `${path}.${one}`);
    }
    return values;
  });
}
