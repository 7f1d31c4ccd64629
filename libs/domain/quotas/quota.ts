import type { Consumer } from '../consumer';
import type { Resources } from '../inventory';

/** What a limit may be on besides resource classes: how many instances a project has (Nova's `instances`). */
export const INSTANCES = 'instances';
/** The limit that is none, as in Nova: it lifts a default limit for one project. */
export const UNLIMITED = -1;
/** Above what any fleet has, and well within what a script counts exactly. */
export const MAX_LIMIT = 1_000_000_000_000;
/** Whose quota holds for every project that has none of its own for a class (Nova's default quota class). */
export const DEFAULT_PROJECT = '';
/** Every claim of a member looks at all of them. */
export const MAX_COHORT_MEMBERS = 64;

/** What the instances of a project may hold in all. */
export interface Quota {
  /** By resource class, and `instances`; where there is none the default's holds, and then there is no limit. */
  readonly limits: Resources;
  /** Projects of one cohort lend each other what they do not use. */
  readonly cohort: string | undefined;
  /** How much the project may hold above each of its limits; without one, all that the cohort has. */
  readonly borrowLimits: Resources;
  /** How much of each of its limits it lends; without one, all. The rest is kept for it. */
  readonly lendLimits?: Resources | undefined;
}

/** A quota, whose it is, and which of its versions; no two versions are the same, not even of different projects. */
export interface ProjectQuota extends Quota {
  readonly projectId: string;
  readonly version: number;
  readonly updatedAtMs: number;
}

/** A limit that a request would exceed. */
export interface QuotaExcess {
  /** Whose limit it is: a project, or all of a cohort. */
  readonly scope: 'project' | 'cohort';
  readonly name: string;
  /** Or `instances`. */
  readonly resourceClass: string;
  readonly used: number;
  readonly asked: number;
  /** With what may be borrowed. */
  readonly limit: number;
}

/** What the rule reads. Projects are named as the caller likes, the same everywhere. */
export interface QuotaState {
  quota(project: string): Quota | undefined;
  /** The quota of {@link DEFAULT_PROJECT}. */
  defaultQuota(): Quota | undefined;
  usage(project: string): Resources;
  /** The projects of a cohort, in order. */
  members(cohort: string): readonly string[];
}

/** By how much what projects hold changes, class by class. */
export type Growth = ReadonlyMap<string, Resources>;

/**
 * The limits that some growth would exceed, of the first project that exceeds any; none when it may grow. What does not
 * grow is never refused, so limits that were lowered below the use refuse only what is new.
 *
 * A project in a cohort may exceed its limit by its borrow limit, while all members together stay within the sum of their
 * limits; so it may have to wait, within its own limit, until others give back what they borrowed (kueue's rule, without
 * its preemption). What a member does not lend is its own in any case, and counts for nobody else: the cohort is asked only
 * for what is above that (kueue's lendingLimit). Members without a limit on a class neither lend nor count.
 *
 * `redis/lua/include/quota.lua` states the same; the contract suite of the store holds the two together.
 */
export function excessOf(growth: Growth, state: QuotaState): readonly QuotaExcess[] {
  for (const [project, asked] of growth) {
    const excess = Object.keys(asked)
      .sort()
      .flatMap((name) => ((asked[name] as number) > 0 ? excessOfClass(project, name, growth, state) : []));
    if (excess.length > 0) return excess;
  }
  return [];
}

function excessOfClass(project: string, resourceClass: string, growth: Growth, state: QuotaState): QuotaExcess[] {
  const limit = limitOf(project, resourceClass, state);
  if (limit === UNLIMITED) return [];
  const { cohort, borrowLimits } = state.quota(project) ?? NO_QUOTA;
  const mayBorrow = cohort === undefined ? 0 : (borrowLimits[resourceClass] ?? UNLIMITED);
  const standing = (name: string) => ({
    used: state.usage(name)[resourceClass] ?? 0,
    asked: growth.get(name)?.[resourceClass] ?? 0,
  });
  const excess: QuotaExcess[] = [];
  const own = standing(project);
  const most = limit + mayBorrow;
  if (mayBorrow !== UNLIMITED && own.used + own.asked > most) {
    excess.push({ scope: 'project', name: project, resourceClass, ...own, limit: most });
  }
  if (cohort === undefined) return excess;
  const all = { used: 0, asked: 0, limit: 0 };
  for (const member of state.members(cohort)) {
    const limitOfMember = limitOf(member, resourceClass, state);
    if (limitOfMember === UNLIMITED) continue;
    const { used, asked } = standing(member);
    const lent = Math.min(limitOfMember, state.quota(member)?.lendLimits?.[resourceClass] ?? limitOfMember);
    const beyond = (amount: number) => Math.max(0, amount - (limitOfMember - lent));
    all.used += beyond(used);
    all.asked += beyond(used + asked) - beyond(used);
    all.limit += lent;
  }
  if (all.asked > 0 && all.used + all.asked > all.limit) {
    excess.push({ scope: 'cohort', name: cohort, resourceClass, ...all });
  }
  return excess;
}

/** What a project may hold of a class without borrowing: its own limit, the default's, or {@link UNLIMITED}. */
export function limitOf(project: string, resourceClass: string, state: QuotaState): number {
  return state.quota(project)?.limits[resourceClass] ?? state.defaultQuota()?.limits[resourceClass] ?? UNLIMITED;
}

const NO_QUOTA: Quota = { limits: {}, cohort: undefined, borrowLimits: {} };

/** What a consumer counts for in its project's quota: all that it holds of each class, and an instance itself. */
export function countedOf({
  allocations,
  consumerType,
  counted: said,
}: Pick<Consumer, 'allocations' | 'consumerType' | 'counted'>): Record<string, number> {
  if (said !== undefined && Object.keys(allocations).length > 0) return { ...said };
  const counted: Record<string, number> = {};
  for (const resources of Object.values(allocations)) {
    for (const name in resources) counted[name] = (counted[name] ?? 0) + (resources[name] as number);
    if (consumerType === 'INSTANCE') counted[INSTANCES] = 1;
  }
  return counted;
}

/** For people: `VCPU: 8 used, 4 asked, limit 10; ...`. Projects may read it: the sums of a cohort, less its own, are others' use. */
export function sentenceOf(excess: readonly QuotaExcess[]): string {
  return excess
    .map(({ scope, name, resourceClass, used, asked, limit }) => {
      if (scope === 'cohort') return `${resourceClass}: ${asked} asked, more than is left of cohort ${name}`;
      return `${resourceClass}: ${used} used, ${asked} asked, limit ${limit}`;
    })
    .join('; ');
}
