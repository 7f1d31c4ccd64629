import type { Consumer } from '../consumer';
import type { Resources } from '../inventory';

/** The limit on a project's number of instances (Nova's `instances`), beside those on resource classes. */
export const INSTANCES = 'instances';
/** No limit, as in Nova: it lifts a default limit for one project. */
export const UNLIMITED = -1;
/** Above any fleet's amounts, and well within the integers that a script counts exactly. */
export const MAX_LIMIT = 1_000_000_000_000;
/** The quota of every project without one of its own for a class (Nova's default quota class). */
export const DEFAULT_PROJECT = '';
/** Every claim of a member reads all members. */
export const MAX_COHORT_MEMBERS = 64;

/** Limits on the total that a project's instances may hold. */
export interface Quota {
  /**
   * By resource class, and `instances`; the default quota's limit applies to a missing one, and without that there is
   * no limit.
   */
  readonly limits: Resources;
  /** Projects of one cohort lend each other their unused quota. */
  readonly cohort: string | undefined;
  /** Limits on borrowing above each limit; a missing one allows all that the cohort has. */
  readonly borrowLimits: Resources;
  /** Limits on lending out of each limit; a missing one lends all. The rest is kept for the project. */
  readonly lendLimits?: Resources | undefined;
}

/** A quota with its project and version; no two versions are equal, even of different projects. */
export interface ProjectQuota extends Quota {
  readonly projectId: string;
  readonly version: number;
  readonly updatedAtMs: number;
}

/** A limit that a request would exceed. */
export interface QuotaExcess {
  /** The owner of the limit: a project, or a whole cohort. */
  readonly scope: 'project' | 'cohort';
  readonly name: string;
  /** Or `instances`. */
  readonly resourceClass: string;
  readonly used: number;
  readonly asked: number;
  /** Includes the amount that may be borrowed. */
  readonly limit: number;
}

/** The state that the rule reads. The caller names projects as it likes, consistently. */
export interface QuotaState {
  quota(project: string): Quota | undefined;
  /** The quota of {@link DEFAULT_PROJECT}. */
  defaultQuota(): Quota | undefined;
  usage(project: string): Resources;
  /** The projects of a cohort, in order. */
  members(cohort: string): readonly string[];
}

/** Changes of projects' held amounts, class by class. */
export type Growth = ReadonlyMap<string, Resources>;

/**
 * The limits that some growth would exceed, of the first project that exceeds any; none when it may grow. Only growth
 * is refused, so a limit lowered below the usage refuses new claims alone.
 *
 * A project in a cohort may exceed its limit by its borrow limit, while all members together stay within the sum of
 * their limits; so it may have to wait, within its own limit, until others return borrowed quota (kueue's rule, without
 * its preemption). Quota that a member does not lend is always its own and does not count for others: the cohort is
 * asked only for amounts above it (kueue's lendingLimit). Members without a limit on a class neither lend nor count.
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
  const isWanted = all.asked > 0 || growth.size === 0;
  if (isWanted && all.used + all.asked > all.limit) {
    excess.push({ scope: 'cohort', name: cohort, resourceClass, ...all });
  }
  return excess;
}

/**
 * The limits of a project that it is above as it stands: what runs was claimed again for it, or a limit was lowered. The sum of a
 * cohort is asked of each of its members.
 */
export function exceededBy(project: string, state: QuotaState): readonly QuotaExcess[] {
  const growth: Growth = new Map();
  return Object.keys(state.usage(project))
    .sort()
    .flatMap((name) => excessOfClass(project, name, growth, state));
}

/** A project's limit on a class without borrowing: its own, the default's, or {@link UNLIMITED}. */
export function limitOf(project: string, resourceClass: string, state: QuotaState): number {
  return state.quota(project)?.limits[resourceClass] ?? state.defaultQuota()?.limits[resourceClass] ?? UNLIMITED;
}

const NO_QUOTA: Quota = { limits: {}, cohort: undefined, borrowLimits: {} };

/** The amounts that a consumer adds to its project's quota: its allocations by class, and 1 for an instance. */
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

/**
 * For people: `VCPU: 8 used, 4 asked, limit 10; ...`. Projects may read it, so a cohort's sums exclude the project's
 * own.
 */
export function sentenceOf(excess: readonly QuotaExcess[]): string {
  return excess
    .map(({ scope, name, resourceClass, used, asked, limit }) => {
      if (scope === 'cohort') return `${resourceClass}: ${asked} asked, more than is left of cohort ${name}`;
      return `${resourceClass}: ${used} used, ${asked} asked, limit ${limit}`;
    })
    .join('; ');
}
