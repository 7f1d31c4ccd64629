import type { Consumer } from '#libs/domain/consumer';
import type { Resources } from '#libs/domain/inventory';
import { RECLAIM_LIMIT } from '#libs/domain/queueing/admission';
import { limitOf, UNLIMITED } from '#libs/domain/quotas/quota';
import type { ProjectQuotas } from '#libs/placement/port/placement-view';

/** A request that may evict others. */
export interface Preemptor {
  readonly projectId: string;
  readonly priority: number;
  /** Amounts of its instances in a quota. */
  readonly asked: Resources;
}

/**
 * True of the instances that a request spares though their priority is lower: those that lenders hold within their own limits, while
 * the request would borrow and its project gives back whatever its priority.
 *
 * The naive rule lets it evict them. Then a lender takes its quota back from that very priority, more than it needs where a host is
 * full, so that there is quota left to borrow: the request evicts the lender again, and both go round for ever. With this rule
 * evictions end (`test/sim/model/evictions.ts`). The cost: who borrows under such a quota finds less room. A project that gives up
 * lower priorities only needs no such rule: each eviction puts a higher priority in the place of a lower one.
 */
export function sparedLenders({ projectId, priority, asked }: Preemptor, quotas: ProjectQuotas) {
  const cohort = quotas.quota(projectId)?.cohort;
  if (cohort === undefined || priority > givenUpBy(projectId, quotas)) return () => false;
  const borrowed = Object.keys(asked).filter((name) => isBeyond(projectId, name, asked[name] ?? 0, quotas));
  return ({ projectId: lender }: Consumer): boolean => {
    if (lender === projectId || quotas.quota(lender)?.cohort !== cohort) return false;
    return borrowed.some((name) => !isBeyond(lender, name, 0, quotas));
  };
}

/** True if a project would hold more than its own limit with so much more. */
function isBeyond(project: string, name: string, more: number, quotas: ProjectQuotas): boolean {
  const limit = limitOf(project, name, quotas);
  return limit !== UNLIMITED && (quotas.usage(project)[name] ?? 0) + more > limit;
}

/** The highest priority that a borrower's quota gives up. */
export function givenUpBy(project: string, quotas: ProjectQuotas): number {
  const highest = quotas.quota(project)?.limits[RECLAIM_LIMIT] ?? quotas.defaultQuota()?.limits[RECLAIM_LIMIT];
  if (highest === undefined) return Number.NEGATIVE_INFINITY;
  return highest === UNLIMITED ? Number.POSITIVE_INFINITY : highest;
}
