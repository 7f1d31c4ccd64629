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
 * borrow. In a cohort, each member holds at most what was read of it. Why it is refused, or undefined.
 */
export function holdToQuotas(draft: Draft, growth: Growth): RefusedCommit | undefined {
  const state = quotaStateOf(draft);
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
        holdCohort(draft, state.members(cohort), name);
        continue;
      }
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
  return isInCohort ? refusalOf(growth, state) : undefined;
}

/** What a cohort has left follows from the use of all its members: none may hold more than it does. */
function holdCohort(draft: Draft, members: readonly string[], name: string): void {
  for (const key of members) {
    const held = draft.glance('project_usage', key)?.row.amounts[name] ?? 0;
    draft.guards.push({ kind: 'amount', table: 'project_usage', key, name, most: held });
  }
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
