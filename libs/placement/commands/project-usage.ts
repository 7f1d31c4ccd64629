import type { Consumer } from '../../domain/consumer';
import type { Resources } from '../../domain/inventory';
import { countedOf, type Growth } from '../../domain/quotas/quota';
import { DAY_MS } from '../../domain/quotas/utc-day';
import type { ConsumerWrite, ProjectUsage, SettleProject } from '../port/placement-store';
import { holdMore } from './claims/hold-more';
import { daysOf, heldOf, isHeld, laterOf, SINCE, type StoredUsage, withAmounts } from './claims/use-over-time';
import { projectKey } from './tables';
import type { Decided, Timed, Transaction } from './transaction';
import { MAX_RECORDS_OF_PROJECT } from './usage/usage-records';

type Days = ProjectUsage['days'];

/** A command's change of projects' usage, by project key: amounts written less amounts held before. */
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

/**
 * Moves what is counted of the days that are over to the project's history, and forgets days that are too old: once a day,
 * so that claims carry today only. Corrects what is counted as held where it is not what the consumers hold.
 */
export async function settleProject(
  tx: Transaction,
  { projectId, keepDays, correction, atMs }: Timed<SettleProject>,
): Decided {
  const key = projectKey(projectId);
  const [stored] = await tx.getStored('project_usage', [key]);
  const isCorrected = correction !== undefined && (stored?.revision ?? 0) === correction.revision;
  const row = stored?.row ?? { atMs, amounts: {} };
  const present = { ...row, atMs: laterOf(row.atMs, atMs) };
  const today = Math.floor(atMs / DAY_MS);
  const isOver = ([day]: readonly [string, unknown]) => Number(day) < today;
  const days = Object.entries(daysOf(present));
  const isSettled = stored !== undefined && stored.row.atMs >= today * DAY_MS && !days.some(isOver);
  if (isSettled && !isCorrected) return { kind: 'unchanged' };
  const history = (await tx.get('project_days', key))?.days ?? {};
  const kept = Object.entries(mergedDays(history, Object.fromEntries(days.filter(isOver)))).filter(
    ([day]) => Number(day) >= today - keepDays,
  );
  if (kept.length > 0) tx.put('project_days', key, { days: Object.fromEntries(kept) });
  else tx.write({ kind: 'delete', table: 'project_days', key });
  const amounts = withoutDaysBefore(today, isCorrected ? corrected(present, correction.used) : present.amounts);
  const isForgotten = kept.length === 0 && Object.keys(amounts).length === 0;
  if (isForgotten) {
    const texts = await tx.records(key, MAX_RECORDS_OF_PROJECT);
    tx.write({ kind: 'delete', table: 'project_usage', key }, { kind: 'delete', table: 'usage_parts', key });
    tx.write(...texts.map((text) => ({ kind: 'unrecord', key, text }) as const));
  } else tx.put('project_usage', key, { atMs: present.atMs, amounts: { ...amounts, [SINCE]: today } });
  return undefined;
}

function withoutDaysBefore(today: number, amounts: Resources): Resources {
  const isKept = (name: string) => isHeld(name) || (name !== SINCE && Number.parseInt(name, 10) >= today);
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => isKept(name)));
}

/** With another amount held from the row's time on. */
function corrected(row: StoredUsage, used: Resources): Resources {
  const held = heldOf(row);
  const more: Record<string, number> = {};
  for (const name of [...Object.keys(held), ...Object.keys(used)]) more[name] = (used[name] ?? 0) - (held[name] ?? 0);
  const adds = holdMore('', more, row.atMs).flatMap((write) => (write.kind === 'add' ? write.amounts : []));
  return withAmounts(row.amounts, adds);
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
