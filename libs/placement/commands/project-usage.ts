import type { Consumer } from '../../domain/consumer';
import type { Resources } from '../../domain/inventory';
import { countedOf, type Growth, type QuotaExcess, type QuotaState } from '../../domain/quotas/quota';
import type { ConsumerWrite, SettleProject } from '../port/placement-store';
import type { AllocationState } from './allocations';
import { projectKey, projectOfKey, type Tables } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

type ProjectUsage = Tables['project_usage'];
/** Unit-milliseconds by day, counted from 1970, and class. */
type Days = ProjectUsage['accrued'];

export const DAY_MS = 86_400_000;
/** A bound on one count, however far a clock jumps. */
const MAX_COUNTED_DAYS = 32;

/** How a command changes what projects hold, by project key: what it writes, less what the consumers held. */
export function growthOf(writes: readonly ConsumerWrite[], olds: readonly (Consumer | undefined)[]): Growth {
  const growth = new Map<string, Record<string, number>>();
  const add = (consumer: Pick<Consumer, 'projectId' | 'allocations' | 'consumerType' | 'counted'>, by: number) => {
    const counted = countedOf(consumer);
    const key = projectKey(consumer.projectId);
    const sum = growth.get(key) ?? {};
    for (const name in counted) sum[name] = (sum[name] ?? 0) + by * (counted[name] as number);
    if (Object.keys(counted).length > 0) growth.set(key, sum);
  };
  for (const [i, write] of writes.entries()) {
    add(write, 1);
    const old = olds[i];
    if (old) add(old, -1);
  }
  return growth;
}

/** What a decision on allocations reads, as the rule of quotas reads it: projects by their keys. */
export function quotaStateOf(state: AllocationState): QuotaState {
  return {
    quota: (key) => state.quota(key),
    defaultQuota: () => state.quota(''),
    usage: (key) => state.projectUsage(key)?.used ?? {},
    members: (cohort) => state.cohort(cohort),
  };
}

/** With the ids of projects in place of their keys. */
export function namedExcess(excess: readonly QuotaExcess[]): readonly QuotaExcess[] {
  return excess.map((one) => (one.scope === 'project' ? { ...one, name: projectOfKey(one.name) } : one));
}

/** The rows of projects as they will be; of those that hold as much as before, none. */
export function grownUsages(growth: Growth, state: AllocationState, atMs: number): Map<string, ProjectUsage> {
  const rows = new Map<string, ProjectUsage>();
  for (const [key, by] of growth) {
    if (Object.values(by).every((amount) => amount === 0)) continue;
    const present = accrued(state.projectUsage(key) ?? { used: {}, atMs, accrued: {} }, atMs);
    const used: Record<string, number> = { ...present.used };
    for (const [name, amount] of Object.entries(by)) used[name] = (used[name] ?? 0) + amount;
    rows.set(key, { ...present, used: withoutZeros(used) });
  }
  return rows;
}

/**
 * A project's row with what it held until now counted, day by day. The commit that changes what a project holds counts it,
 * so that nothing is counted twice, whoever commits or dies. A clock that is behind the last commit's counts nothing, up to a
 * day; one that is further behind was set back, or ahead before: counting begins anew with it. Of what lies further back than
 * `MAX_COUNTED_DAYS` only so much is counted: a project is settled each day, so it is a clock that jumped.
 */
export function accrued(row: ProjectUsage, atMs: number): ProjectUsage {
  const held = Object.entries(row.used).filter(([, amount]) => amount > 0);
  const days: Record<string, Record<string, number>> = { ...row.accrued };
  let fromMs = held.length === 0 ? atMs : Math.max(row.atMs, atMs - MAX_COUNTED_DAYS * DAY_MS);
  while (fromMs < atMs) {
    const day = Math.floor(fromMs / DAY_MS);
    const toMs = Math.min(atMs, (day + 1) * DAY_MS);
    const sum: Record<string, number> = { ...days[day] };
    for (const [name, amount] of held) sum[name] = (sum[name] ?? 0) + amount * (toMs - fromMs);
    days[day] = sum;
    fromMs = toMs;
  }
  const isSetBack = row.atMs - atMs > DAY_MS;
  return { used: row.used, atMs: isSetBack ? atMs : Math.max(row.atMs, atMs), accrued: days };
}

/**
 * Moves what is counted of the days that are over to the project's history, and forgets days that are too old: once a day,
 * so that claims carry today only. Corrects what is counted as held where it is not what the consumers hold: commits of
 * releases before 0.2 did not count.
 */
export async function settleProject(
  tx: Transaction,
  { projectId, keepDays, correction, atMs }: Timed<SettleProject>,
): Decided {
  const key = projectKey(projectId);
  const [stored] = await tx.getStored('project_usage', [key]);
  const isCorrected = correction !== undefined && (stored?.revision ?? 0) === correction.revision;
  const present = accrued(stored?.row ?? { used: {}, atMs, accrued: {} }, atMs);
  const used = isCorrected ? withoutZeros(correction.used) : present.used;
  const today = Math.floor(atMs / DAY_MS);
  const isOver = ([day]: readonly [string, unknown]) => Number(day) < today;
  const days = Object.entries(present.accrued);
  const isSettled = stored !== undefined && stored.row.atMs >= today * DAY_MS && !days.some(isOver);
  if (isSettled && !isCorrected) return { kind: 'unchanged' };
  const history = (await tx.get('project_days', key))?.days ?? {};
  const kept = Object.entries(mergedDays(history, Object.fromEntries(days.filter(isOver)))).filter(
    ([day]) => Number(day) >= today - keepDays,
  );
  const rest = Object.fromEntries(days.filter((one) => !isOver(one)));
  if (kept.length > 0) tx.put('project_days', key, { days: Object.fromEntries(kept) });
  else tx.write({ kind: 'delete', table: 'project_days', key });
  const isForgotten = kept.length === 0 && Object.keys(used).length === 0 && Object.keys(rest).length === 0;
  if (isForgotten) tx.write({ kind: 'delete', table: 'project_usage', key });
  else tx.put('project_usage', key, { used, atMs: present.atMs, accrued: rest });
  return undefined;
}

/** Two counts of days in one: the sums of what both have. */
function mergedDays(a: Days, b: Days): Days {
  const merged: Record<string, Resources> = { ...a };
  for (const [day, amounts] of Object.entries(b)) {
    const sum: Record<string, number> = { ...merged[day] };
    for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount;
    merged[day] = sum;
  }
  return merged;
}

function withoutZeros(used: Resources): Resources {
  return Object.fromEntries(Object.entries(used).filter(([, amount]) => amount !== 0));
}
