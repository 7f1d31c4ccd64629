import { type Consumer, heldSince } from '../../../domain/consumer';
import type { Resources } from '../../../domain/inventory';
import { countedOf } from '../../../domain/quotas/quota';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import type { ConsumerWrite, UsageRecord } from '../../port/placement-store';
import { projectKey } from '../tables';
import type { Write } from '../transaction';

/** Records of a project, and of all, that may wait to be folded; beyond that what ends is the project's alone. */
export const MAX_RECORDS_OF_PROJECT = 4_000;
export const MAX_RECORDS = 200_000;

/** The time of a change as its project's ledger counts it. */
export type LedgerTime = (projectId: string) => number;

/**
 * Holdings that end by a write: of a consumer that holds nothing any more, or other amounts, or as another's or by another flavor. Its
 * record is the very interval that the project's sums count, so records and what is still held sum to these.
 */
export function endedBy(
  writes: readonly ConsumerWrite[],
  olds: readonly (Consumer | undefined)[],
  at: LedgerTime,
): Write[] {
  return writes.flatMap((write, i): Write[] => {
    const old = olds[i];
    if (old === undefined || isSameHolding(write, old)) return [];
    const record = recordOf(old, at(old.projectId));
    if (record === undefined) return [];
    const most = { mostOfProject: MAX_RECORDS_OF_PROJECT, most: MAX_RECORDS };
    return [{ kind: 'record', key: projectKey(old.projectId), text: encodeRecord(record), ...most }];
  });
}

/** Since when the written consumer holds what it does; undefined: since its row was made. */
export function heldSinceAfter(write: ConsumerWrite, old: Consumer | undefined, atMs: number, at: LedgerTime) {
  if (old !== undefined && isSameHolding(write, old)) return old.heldSinceMs;
  const sinceMs = at(write.projectId);
  return sinceMs === (old?.createdAtMs ?? atMs) ? undefined : sinceMs;
}

/** The holding of a consumer until a time, undefined when that is nothing. */
export function recordOf(consumer: Consumer, toMs: number): UsageRecord | undefined {
  const { uuid: consumerUuid, userId, flavor = '' } = consumer;
  const [held, fromMs] = [countedOf(consumer), heldSince(consumer)];
  if (toMs <= fromMs || Object.keys(held).length === 0) return undefined;
  return { consumerUuid, userId, flavor, held, fromMs, toMs };
}

function isSameHolding(write: ConsumerWrite, old: Consumer): boolean {
  if (Object.keys(write.allocations).length === 0) return false;
  if (write.projectId !== old.projectId || write.userId !== old.userId) return false;
  if ((write.flavor ?? '') !== (old.flavor ?? '')) return false;
  const [a, b] = [countedOf(write), countedOf(old)];
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The unit-milliseconds of a record by day. */
export function daysOfRecord({ held, fromMs, toMs }: Pick<UsageRecord, 'held' | 'fromMs' | 'toMs'>) {
  const days: Record<string, Resources> = {};
  for (let startMs = fromMs; startMs < toMs; ) {
    const day = Math.floor(startMs / DAY_MS);
    const endMs = Math.min(toMs, (day + 1) * DAY_MS);
    days[day] = Object.fromEntries(Object.entries(held).map(([name, amount]) => [name, amount * (endMs - startMs)]));
    startMs = endMs;
  }
  return days;
}

/** A record as a text; texts sort by the time of the end. */
export function encodeRecord({ consumerUuid, userId, flavor, held, fromMs, toMs }: UsageRecord): string {
  return `${String(toMs).padStart(15, '0')} ${consumerUuid} ${fromMs} ${JSON.stringify([userId, flavor, held])}`;
}

export function decodeRecord(text: string): UsageRecord {
  const [toMs = '', consumerUuid = '', fromMs = ''] = text.split(' ', 3);
  const json = text.slice(toMs.length + consumerUuid.length + fromMs.length + 3);
  const [userId, flavor, held] = JSON.parse(json) as [string, string, Resources];
  return { consumerUuid, userId, flavor, held, fromMs: Number(fromMs), toMs: Number(toMs) };
}
