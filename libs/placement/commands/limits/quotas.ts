import { BerthError } from '../../../domain/errors';
import { DEFAULT_PROJECT, MAX_COHORT_MEMBERS } from '../../../domain/quotas/quota';
import type { WriteQuota } from '../../port/placement-store';
import { counters, projectKey, type Tables } from '../tables';
import type { Decided, Timed, Transaction } from '../transaction';

/** Projects with a quota of their own; every mirror has them all. */
export const MAX_QUOTAS = 10_000;

/**
 * Changes a project's quota, or the default: limits that are set, and classes of which nothing is set any more. A quota
 * that says nothing is none.
 *
 * @throws BerthError `failed_precondition / not_in_cohort` for a borrow or lend limit without a cohort.
 */
export async function writeQuota(tx: Transaction, command: Timed<WriteQuota>): Decided {
  const { projectId, version, atMs } = command;
  const key = projectKey(projectId);
  const [stored] = await tx.getStored('quota', [key]);
  if (version !== 0 && version !== stored?.revision) {
    return { kind: 'generation', subject: 'quota', uuid: projectId, present: stored?.revision };
  }
  const present = stored?.row ?? { limits: {}, borrowLimits: {}, cohort: undefined, updatedAtMs: atMs };
  const next = changed(present, command);
  const isOfCohort = [...Object.keys(next.borrowLimits), ...Object.keys(next.lendLimits ?? {})].length > 0;
  if (isOfCohort && next.cohort === undefined) {
    const message = 'a project outside of a cohort has nobody to borrow from or to lend to; set a cohort, too';
    throw new BerthError('failed_precondition', 'not_in_cohort', message);
  }
  if (isSame(present, next)) return { kind: 'unchanged' };
  const refusal = await moveCohort(tx, key, present.cohort, next.cohort);
  if (refusal) return refusal;
  if (isSame(next, NOTHING)) {
    tx.write({ kind: 'delete', table: 'quota', key }, { kind: 'count', name: counters.quotas, by: -1 });
    return undefined;
  }
  if (!stored) {
    if ((await tx.count(counters.quotas)) >= MAX_QUOTAS) return { kind: 'full', subject: 'quota', most: MAX_QUOTAS };
    tx.write({ kind: 'count', name: counters.quotas, by: 1 });
  }
  tx.put('quota', key, { ...next, updatedAtMs: atMs });
  return undefined;
}

const NOTHING: Content = { limits: {}, borrowLimits: {}, cohort: undefined };

type Content = Pick<Tables['quota'], 'limits' | 'borrowLimits' | 'lendLimits' | 'cohort'>;

function changed(
  present: Content,
  { projectId, limits, borrowLimits, lendLimits = {}, cohort, unset }: WriteQuota,
): Content {
  if (unset === 'all') return NOTHING;
  const without = (map: Content['limits']) =>
    Object.fromEntries(Object.entries(map).filter(([name]) => !unset.includes(name)));
  const next = projectId === DEFAULT_PROJECT || cohort === '' ? undefined : (cohort ?? present.cohort);
  const lends = next === undefined ? lendLimits : { ...without(present.lendLimits ?? {}), ...lendLimits };
  return {
    // Most have none: their rows are as those of an older version.
    ...(Object.keys(lends).length > 0 ? { lendLimits: lends } : {}),
    limits: { ...without(present.limits), ...limits },
    // Whoever leaves a cohort leaves what could be borrowed there.
    borrowLimits: next === undefined ? borrowLimits : { ...without(present.borrowLimits), ...borrowLimits },
    cohort: next,
  };
}

/** Keeps the list of each cohort's members, which claims read. */
async function moveCohort(tx: Transaction, key: string, from: string | undefined, to: string | undefined): Decided {
  if (from === to) return undefined;
  if (from !== undefined) {
    const left = ((await tx.get('cohort', cohortKey(from)))?.members ?? []).filter((member) => member !== key);
    if (left.length === 0) tx.write({ kind: 'delete', table: 'cohort', key: cohortKey(from) });
    else tx.put('cohort', cohortKey(from), { members: left });
  }
  if (to === undefined) return undefined;
  const members = (await tx.get('cohort', cohortKey(to)))?.members ?? [];
  if (members.length >= MAX_COHORT_MEMBERS) return { kind: 'full', subject: 'cohort', most: MAX_COHORT_MEMBERS };
  tx.put('cohort', cohortKey(to), { members: [...members, key].sort() });
  return undefined;
}

/** Cohorts are named by operators. */
function cohortKey(name: string): string {
  return projectKey(name);
}

function isSame(a: Content, b: Content): boolean {
  const isSameMap = (one: Content['limits'], other: Content['limits']) =>
    [...Object.keys(one), ...Object.keys(other)].every((name) => one[name] === other[name]);
  const isSameLending = isSameMap(a.lendLimits ?? {}, b.lendLimits ?? {});
  const isSameBorrowing = isSameMap(a.borrowLimits, b.borrowLimits);
  return isSameMap(a.limits, b.limits) && isSameBorrowing && isSameLending && a.cohort === b.cohort;
}
