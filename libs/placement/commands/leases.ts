import { MAX_LEASES, type PlaceLease } from '../../domain/queueing/place-lease';
import { projectShare } from '../../domain/quotas/project-share';
import type { EndLeases, WriteLease } from '../port/placement-store';
import { counters, type KeptRoom, type NominatedAmounts } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

/** Leases places for an instance. It takes no capacity; of a nomination, claims of lower priorities leave that room (`allocations.ts`). */
export async function writeLease(tx: Transaction, { lease, atMs }: Timed<WriteLease>): Decided {
  const present = await tx.get('lease', lease.consumerUuid);
  if (present?.projectId !== lease.projectId) {
    const most = await fullAt(tx, lease.projectId);
    if (most !== undefined) return { kind: 'full', subject: 'lease', most };
    if (present) count(tx, present, -1);
    count(tx, lease, 1);
  }
  tx.put('lease', lease.consumerUuid, lease);
  await nominate(tx, present ? [present] : [], [lease], atMs);
  return undefined;
}

/** Ends leases; with a time, only those that have run out by then: others may have been written anew since. */
export async function endLeases(tx: Transaction, { consumerUuids, expiredAtMs, atMs }: Timed<EndLeases>): Decided {
  const present = await tx.getAll('lease', [...new Set(consumerUuids)]);
  const hasRunOut = ({ untilMs }: PlaceLease) => expiredAtMs === undefined || untilMs <= expiredAtMs;
  const ending = present.filter((lease) => lease !== undefined).filter(hasRunOut);
  if (ending.length === 0) return { kind: 'unchanged' };
  for (const lease of ending) {
    tx.write({ kind: 'delete', table: 'lease', key: lease.consumerUuid });
    count(tx, lease, -1);
  }
  await nominate(tx, ending, [], atMs);
  return undefined;
}

/** The bound that one more lease of a project would pass: of all projects, or its share. */
async function fullAt(tx: Transaction, projectId: string): Promise<number | undefined> {
  if ((await tx.readCount(counters.leases)) >= MAX_LEASES) return MAX_LEASES;
  const share = projectShare(MAX_LEASES);
  return (await tx.readCount(counters.leasesOf(projectId))) >= share ? share : undefined;
}

function count(tx: Transaction, { projectId }: PlaceLease, by: number): void {
  for (const name of [counters.leases, counters.leasesOf(projectId)]) tx.write({ kind: 'count', name, by });
}

/**
 * Keeps what is nominated beside each provider, where a claim finds it without reading leases. What has run out there goes with the
 * next write; a process of an older version, which knows nothing of it, leaves no more than that.
 */
async function nominate(
  tx: Transaction,
  before: readonly PlaceLease[],
  after: readonly PlaceLease[],
  atMs: number,
): Promise<void> {
  const isNomination = ({ kind }: PlaceLease) => kind === 'nomination';
  const wanted = amountsByProvider(after.filter(isNomination));
  const gone = new Set(before.map(({ consumerUuid }) => consumerUuid));
  const touched = new Set([...amountsByProvider(before.filter(isNomination)).keys(), ...wanted.keys()]);
  const providers = [...touched];
  const rows = await tx.getAll('nomination', providers);
  for (const [n, provider] of providers.entries()) {
    const row = rows[n];
    const others = Object.entries(row ?? {}).filter(([uuid, { untilMs }]) => !gone.has(uuid) && untilMs > atMs);
    const next: KeptRoom = { ...Object.fromEntries(others), ...wanted.get(provider) };
    if (Object.keys(next).length > 0) tx.put('nomination', provider, next);
    else if (row) tx.write({ kind: 'delete', table: 'nomination', key: provider });
  }
}

/** By provider, then by instance. */
function amountsByProvider(leases: readonly PlaceLease[]): Map<string, Record<string, NominatedAmounts>> {
  const amounts = new Map<string, Record<string, NominatedAmounts>>();
  for (const { consumerUuid, priority, untilMs, places } of leases) {
    for (const [provider, resources] of places.flatMap(({ allocations }) => Object.entries(allocations))) {
      amounts.set(provider, { ...amounts.get(provider), [consumerUuid]: { priority, untilMs, resources } });
    }
  }
  return amounts;
}
