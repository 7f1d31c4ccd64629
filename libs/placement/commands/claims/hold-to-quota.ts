import {
  DEFAULT_PROJECT,
  excessOf,
  type Growth,
  limitOf,
  type QuotaState,
  UNLIMITED,
} from '../../../domain/quotas/quota';
import type { RefusedCommit } from '../../port/placement-store';
import { projectKey, projectOfKey } from '../tables';
import type { Draft } from './draft';
import { heldOf } from './use-over-time';

/**
 * Holds projects to their quotas: of each class of which a project is to hold more, it stays within its limit and what it may
 * borrow. What a cohort has left follows from the use of all its members, so each holds at most what was read of it; exactly
 * that where it refuses. Why it is refused, or undefined.
 */
export function holdToQuotas(draft: Draft, growth: Growth): RefusedCommit | undefined {
  const state = quotaStateOf(draft);
  const decisive: Amount[] = [];
  let isInCohort = false;
  for (const [project, by] of growth) {
    const classes = Object.keys(by)
      .filter((name) => (by[name] as number) > 0)
      .sort();
    const cohort = state.quota(project)?.cohort;
    for (const name of classes) {
      const limit = limitOf(project, name, state);
      if (limit === UNLIMITED) continue;
      if (cohort !== undefined) {
        isInCohort = true;
        const amounts = state.members(cohort).map((key) => ({ key, name }));
        for (const one of amounts) {
          draft.guards.push({ kind: 'amount', table: 'project_usage', ...one, most: heldNow(draft, one) });
        }
        decisive.push(...amounts);
        continue;
      }
      decisive.push({ key: project, name });
      draft.guards.push({
        kind: 'amount',
        table: 'project_usage',
        key: project,
        name,
        most: limit - (by[name] as number),
        refusal: () => refusalOf(growth, state),
      });
    }
  }
  const refusal = isInCohort ? refusalOf(growth, state) : undefined;
  // The rows may be out of date: a project that has given back meanwhile may have room.
  if (refusal) for (const one of decisive) holdAtLeast(draft, one);
  return refusal;
}

/** A project's amount of a class. */
interface Amount {
  readonly key: string;
  readonly name: string;
}

function holdAtLeast(draft: Draft, amount: Amount): void {
  const least = heldNow(draft, amount);
  if (least > 0) draft.guards.push({ kind: 'amount', table: 'project_usage', ...amount, least });
}

function heldNow(draft: Draft, { key, name }: Amount): number {
  return draft.glance('project_usage', key)?.row.amounts[name] ?? 0;
}

function refusalOf(growth: Growth, state: QuotaState): RefusedCommit | undefined {
  const excess = excessOf(growth, state);
  if (excess.length === 0) return undefined;
  const named = excess.map((one) => (one.scope === 'project' ? { ...one, name: projectOfKey(one.name) } : one));
  return { kind: 'quota', excess: named };
}

/** Quotas, which must stay as they are, and what projects hold. Projects are named by their keys. */
function quotaStateOf(draft: Draft): QuotaState {
  return {
    quota: (key) => draft.read('quota', key),
    defaultQuota: () => draft.read('quota', DEFAULT_PROJECT),
    usage: (key) => {
      const usage = draft.glance('project_usage', key);
      return usage ? heldOf(usage.row) : {};
    },
    members: (cohort) => draft.read('cohort', projectKey(cohort))?.members ?? [],
  };
}
