import { isDeepStrictEqual } from 'node:util';
import { type Aggregate, MAX_AGGREGATES, ownZoneOf, zoneOf } from '../../domain/grouping/aggregate';
import type { Host } from '../../domain/host';
import type { AggregateCommand } from '../port/placement-store';
import { counters } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

/*
 * Operators change aggregates rarely. So each change excludes every other by one counter, and what is read of aggregates
 * and memberships under it needs no other guard: that no other aggregate has the name, that none of a thousand hosts is
 * in another zone, that an aggregate is empty.
 */

type Change<K extends AggregateCommand['kind']> = Timed<Extract<AggregateCommand, { kind: K }>>;

/** Adds an aggregate without hosts. Again, just so, changes nothing. */
export async function createAggregate(
  tx: Transaction,
  { uuid, name, metadata, atMs }: Change<'create_aggregate'>,
): Decided {
  const aggregates = await readAggregates(tx);
  const present = aggregates.get(uuid);
  if (present?.name === name && isDeepStrictEqual(present.metadata, metadata)) return { kind: 'unchanged' };
  if (present) return { kind: 'exists', subject: 'aggregate', key: uuid };
  if (isTaken(aggregates, name)) return { kind: 'exists', subject: 'aggregate', key: name };
  if (aggregates.size >= MAX_AGGREGATES) return { kind: 'full', subject: 'aggregate', most: MAX_AGGREGATES };
  write(tx, { uuid, name, metadata, createdAtMs: atMs, updatedAtMs: atMs });
  return undefined;
}

/** Renames an aggregate, or changes its metadata. */
export async function updateAggregate(
  tx: Transaction,
  { uuid, name, set, unset, atMs }: Change<'update_aggregate'>,
): Decided {
  const aggregates = await readAggregates(tx);
  const present = aggregates.get(uuid);
  if (!present) return notFound(uuid);
  const kept = Object.entries(present.metadata).filter(([key]) => !unset.includes(key));
  const metadata = { ...Object.fromEntries(kept), ...set };
  const next = { ...present, name: name ?? present.name, metadata };
  if (isDeepStrictEqual(next, present)) return { kind: 'unchanged' };
  if (next.name !== present.name && isTaken(aggregates, next.name)) {
    return { kind: 'exists', subject: 'aggregate', key: next.name };
  }
  if (ownZoneOf([next]) !== ownZoneOf([present])) {
    const after = new Map(aggregates).set(uuid, next);
    for (const host of await hostsIn(tx, uuid)) {
      const refusal = await refuseZone(tx, host, inside(aggregates, host.aggregates), inside(after, host.aggregates));
      if (refusal) return refusal;
    }
  }
  write(tx, { ...next, updatedAtMs: atMs });
  return undefined;
}

/** Deletes an aggregate without hosts. */
export async function deleteAggregate(tx: Transaction, { uuid }: Change<'delete_aggregate'>): Decided {
  const aggregates = await readAggregates(tx);
  if (!aggregates.has(uuid)) return notFound(uuid);
  const [host] = await hostsIn(tx, uuid);
  if (host) return { kind: 'in_use', subject: 'aggregate', key: uuid, by: 'hosts' };
  tx.write({ kind: 'delete', table: 'aggregate', key: uuid });
  return undefined;
}

/** Adds a host, with its root provider, to an aggregate, or removes it; a provider stays in one that its agent reports. */
export async function changeMembership(
  tx: Transaction,
  { kind, uuid, host: name, atMs }: Change<'add_aggregate_host' | 'remove_aggregate_host'>,
): Decided {
  const aggregates = await readAggregates(tx);
  if (!aggregates.has(uuid)) return notFound(uuid);
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  const isMember = kind === 'add_aggregate_host';
  if (host.aggregates.includes(uuid) === isMember) return { kind: 'unchanged' };
  const others = host.aggregates.filter((other) => other !== uuid);
  return writeMemberships(tx, aggregates, host, { uuids: isMember ? [...others, uuid] : others, atMs });
}

/** The aggregates of a host's root provider: those that others wrote, and those that operators put the host into. */
export function withMemberships(aggregates: readonly string[], memberships: readonly string[]): readonly string[] {
  const missing = memberships.filter((uuid) => !aggregates.includes(uuid));
  return missing.length === 0 ? aggregates : [...aggregates, ...missing];
}

type Aggregates = ReadonlyMap<string, Aggregate>;

/** All aggregates; nothing about them, and about who is in them, changes until the commit. */
async function readAggregates(tx: Transaction): Promise<Aggregates> {
  await tx.count(counters.aggregateChanges);
  tx.write({ kind: 'count', name: counters.aggregateChanges, by: 1 });
  return new Map(await tx.scan('aggregate'));
}

async function hostsIn(tx: Transaction, uuid: string): Promise<readonly Host[]> {
  const hosts = await tx.scan('host');
  return hosts.filter(([, host]) => host.aggregates.includes(uuid)).map(([, host]) => host);
}

function inside(aggregates: Aggregates, uuids: readonly string[]): readonly Aggregate[] {
  return uuids.map((uuid) => aggregates.get(uuid)).filter((aggregate) => aggregate !== undefined);
}

function isTaken(aggregates: Aggregates, name: string): boolean {
  return [...aggregates.values()].some((aggregate) => aggregate.name === name);
}

function write(tx: Transaction, aggregate: Aggregate): void {
  tx.put('aggregate', aggregate.uuid, aggregate);
}

async function writeMemberships(
  tx: Transaction,
  aggregates: Aggregates,
  host: Host,
  { uuids, atMs }: { readonly uuids: readonly string[]; readonly atMs: number },
): Decided {
  const refusal = await refuseZone(tx, host, inside(aggregates, host.aggregates), inside(aggregates, uuids));
  if (refusal) return refusal;
  tx.put('host', host.name, { ...host, aggregates: uuids, updatedAtMs: atMs });
  const provider = await tx.get('provider', host.providerUuid);
  if (!provider) return undefined;
  const reported = provider.reported?.aggregates ?? [];
  const others = provider.aggregates.filter((uuid) => !host.aggregates.includes(uuid) || reported.includes(uuid));
  tx.put('provider', provider.uuid, { ...provider, aggregates: withMemberships(others, uuids), updatedAtMs: atMs });
  tx.write({ kind: 'raise', key: provider.uuid });
  return undefined;
}

/** A host is in one zone, and stays there while it has allocations (Nova's rules). */
async function refuseZone(
  tx: Transaction,
  host: Host,
  before: readonly Aggregate[],
  after: readonly Aggregate[],
): Decided {
  const zones = new Set(after.map((one) => ownZoneOf([one])).filter((zone) => zone !== undefined));
  if (zones.size > 1) return { kind: 'zone', host: host.name, zone: zoneOf(before) };
  if (zoneOf(before) === zoneOf(after)) return undefined;
  const members = (await tx.get('tree', host.providerUuid))?.members ?? [host.providerUuid];
  const usages = await tx.getAll('usage', members);
  const isInUse = usages.some((usage) => Object.keys(usage?.used ?? {}).length > 0);
  return isInUse ? { kind: 'in_use', subject: 'host', key: host.name, by: 'allocations' } : undefined;
}

function notFound(uuid: string) {
  return { kind: 'not_found', subject: 'aggregate', key: uuid } as const;
}
