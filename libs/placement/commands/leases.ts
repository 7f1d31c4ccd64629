import { MAX_LEASES, type PlaceLease } from '../../domain/queueing/place-lease';
import type { EndLeases, WriteLease } from '../port/placement-store';
import { counters } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

/** Leases places for an instance. It takes no capacity: claims do not read it. */
export async function writeLease(tx: Transaction, { lease }: Timed<WriteLease>): Decided {
  const present = await tx.get('lease', lease.consumerUuid);
  if (!present) {
    const count = await tx.readCount(counters.leases);
    if (count >= MAX_LEASES) return { kind: 'full', subject: 'lease', most: MAX_LEASES };
    tx.write({ kind: 'count', name: counters.leases, by: 1 });
  }
  tx.put('lease', lease.consumerUuid, lease);
  return undefined;
}

/** Ends leases; with a time, only those that have run out by then: others may have been written anew since. */
export async function endLeases(tx: Transaction, { consumerUuids, expiredAtMs }: Timed<EndLeases>): Decided {
  const present = await tx.getAll('lease', consumerUuids);
  const hasRunOut = ({ untilMs }: PlaceLease) => expiredAtMs === undefined || untilMs <= expiredAtMs;
  const ending = present.filter((lease) => lease !== undefined).filter(hasRunOut);
  for (const { consumerUuid } of ending) tx.write({ kind: 'delete', table: 'lease', key: consumerUuid });
  if (ending.length === 0) return { kind: 'unchanged' };
  tx.write({ kind: 'count', name: counters.leases, by: -ending.length });
  return undefined;
}
