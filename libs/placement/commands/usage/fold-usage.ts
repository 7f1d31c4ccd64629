import type { Resources } from '../../../domain/inventory';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import type { FoldUsage, UsageParts } from '../../port/placement-store';
import { projectKey } from '../tables';
import type { Decided, Timed, Transaction } from '../transaction';
import { daysOfRecord, decodeRecord } from './usage-records';

/** Parts of a project: entries by day, user and flavor. Beyond that the oldest days keep the project's sums alone. */
export const MAX_PARTS = 5_000;
/** Records folded by one commit. */
const MAX_FOLDED = 500;

/**
 * Folds the oldest records of what a project's consumers held into sums by day, user and flavor, until no more are left than
 * are kept by name; and forgets days that are too old. A record is in the records or in the sums, never in both.
 */
export async function foldUsage(
  tx: Transaction,
  { projectId, keepRecords, keepDays, forgetsOld, atMs }: Timed<FoldUsage>,
): Decided {
  const key = projectKey(projectId);
  const today = Math.floor(atMs / DAY_MS);
  const excess = (await tx.recordCount(key)) - keepRecords;
  if (excess <= 0 && !forgetsOld) return { kind: 'unchanged' };
  const isOld = (text: string) => decodeRecord(text).toMs < (today - keepDays) * DAY_MS;
  const folded = (await tx.records(key, MAX_FOLDED)).filter((text, n) => n < excess || isOld(text));
  const before = (await tx.get('usage_parts', key))?.days ?? {};
  const parts = new PartSums(before);
  for (const text of folded) parts.add(text);
  const days = parts.since(today - keepDays);
  if (folded.length === 0 && Object.keys(days).length === Object.keys(before).length) return { kind: 'unchanged' };
  if (Object.keys(days).length > 0) tx.put('usage_parts', key, { days });
  else tx.write({ kind: 'delete', table: 'usage_parts', key });
  tx.write(...folded.map((text) => ({ kind: 'unrecord', key, text }) as const));
  return undefined;
}

class PartSums {
  readonly #days: Map<number, Map<string, Record<string, number>>>;

  constructor(days: UsageParts) {
    const copy = (parts: UsageParts[string]) => new Map(parts.map(([...part]) => [nameOf(part), { ...part[2] }]));
    this.#days = new Map(Object.entries(days).map(([day, parts]) => [Number(day), copy(parts)]));
  }

  add(text: string): void {
    const record = decodeRecord(text);
    const name = nameOf([record.userId, record.flavor]);
    for (const [day, amounts] of Object.entries(daysOfRecord(record))) {
      const parts = this.#days.get(Number(day)) ?? new Map<string, Record<string, number>>();
      const sum = parts.get(name) ?? {};
      for (const [of, amount] of Object.entries(amounts)) sum[of] = (sum[of] ?? 0) + amount;
      parts.set(name, sum);
      this.#days.set(Number(day), parts);
    }
  }

  /** The latest days that there is place for. */
  since(firstDay: number): UsageParts {
    const kept: Record<string, UsageParts[string]> = {};
    let count = 0;
    for (const [day, parts] of [...this.#days].sort(([a], [b]) => b - a)) {
      count += parts.size;
      if (day < firstDay || count > MAX_PARTS) break;
      kept[day] = [...parts].map(([name, amounts]) => [
        ...(JSON.parse(name) as [string, string]),
        amounts as Resources,
      ]);
    }
    return kept;
  }
}

function nameOf([userId, flavor]: readonly [userId: string, flavor: string, ...unknown[]]): string {
  return JSON.stringify([userId, flavor]);
}
