import type { Inventories } from '../../domain/inventory';
import type { RaiseGenerations, WriteAggregates, WriteInventories, WriteTraits } from '../port/placement-store';
import { withMemberships } from './aggregates';
import { countUsers, refuseUnknown } from './catalogue';
import { decide } from './reports/merge-report';
import type { Tables } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

/** Sets or removes inventories of a provider. A total below what is used is accepted; a class in use can't be removed. */
export async function writeInventories(tx: Transaction, command: Timed<WriteInventories>): Decided {
  const { providerUuid, generation, atMs, remove = [] } = command;
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: providerUuid };
  const stale = await refuseGeneration(tx, providerUuid, generation);
  if (stale) return stale;
  const unknown = await refuseUnknown(tx, 'resource_class', Object.keys(command.inventories));
  if (unknown) return unknown;
  const missing = remove.find((resourceClass) => !Object.hasOwn(provider.inventories, resourceClass));
  if (missing !== undefined) return { kind: 'not_found', subject: 'inventory', key: missing };
  const kept = command.replace ? {} : { ...provider.inventories };
  for (const resourceClass of remove) delete kept[resourceClass];
  const inventories = { ...kept, ...command.inventories };
  const inUse = await usedClass(tx, provider, inventories);
  if (inUse !== undefined) return { kind: 'in_use', subject: 'inventory', key: inUse, by: 'allocations' };
  putInventories(tx, provider, inventories, atMs);
  tx.write({ kind: 'raise', key: providerUuid });
  return undefined;
}

/** Replaces a provider's traits. */
export async function writeTraits(
  tx: Transaction,
  { providerUuid, generation, traits, atMs }: Timed<WriteTraits>,
): Decided {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: providerUuid };
  const refusal = (await refuseGeneration(tx, providerUuid, generation)) ?? (await refuseUnknown(tx, 'trait', traits));
  if (refusal) return refusal;
  countUsers(tx, 'trait', provider.traits, traits);
  tx.put('provider', providerUuid, { ...provider, traits, updatedAtMs: atMs });
  tx.write({ kind: 'raise', key: providerUuid });
  return undefined;
}

/** Replaces a provider's aggregates, but for the host aggregates that its host is in: those are operators' to write. */
export async function writeAggregates(
  tx: Transaction,
  { providerUuid, generation, aggregates, atMs }: Timed<WriteAggregates>,
): Decided {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: providerUuid };
  const refusal = await refuseGeneration(tx, providerUuid, generation);
  if (refusal) return refusal;
  const host = provider.host === undefined ? undefined : await tx.get('host', provider.host);
  const kept = withMemberships(aggregates, host?.aggregates ?? []);
  tx.put('provider', providerUuid, { ...provider, aggregates: kept, updatedAtMs: atMs });
  tx.write({ kind: generation === undefined ? 'show' : 'raise', key: providerUuid });
  return undefined;
}

/** Raises generations to at least the given ones. Decided again when a claim meanwhile changed one of the rows. */
export async function raiseGenerations(tx: Transaction, { providers, consumers }: RaiseGenerations): Decided {
  const [usages, rows] = await Promise.all([
    tx.getAll('usage', Object.keys(providers)),
    tx.getAll('consumer', Object.keys(consumers)),
  ]);
  for (const [i, [uuid, generation]] of Object.entries(providers).entries()) {
    const usage = usages[i];
    if (usage && usage.generation < generation) tx.put('usage', uuid, { ...usage, generation });
  }
  for (const [i, [uuid, generation]] of Object.entries(consumers).entries()) {
    const row = rows[i];
    if (row?.owner === 'api' && row.generation < generation) tx.put('consumer', uuid, { ...row, generation });
  }
  return tx.writes.length === 0 ? { kind: 'unchanged' } : undefined;
}

/** Refuses when a generation is given and is not the provider's. */
export async function refuseGeneration(tx: Transaction, uuid: string, generation: number | undefined): Decided {
  if (generation === undefined) return undefined;
  const present = (await tx.get('usage', uuid))?.generation;
  return present === generation ? undefined : { kind: 'generation', subject: 'provider', uuid, present };
}

/** Writes the provider's row, with the counts that follow from it; the generation is the caller's to raise. */
export function putInventories(
  tx: Transaction,
  provider: Tables['provider'],
  inventories: Inventories,
  atMs: number,
): void {
  countUsers(tx, 'resource_class', Object.keys(provider.inventories), Object.keys(inventories));
  const decided = decide(provider, inventories);
  tx.put('provider', provider.uuid, { ...provider, inventories, ...(decided && { decided }), updatedAtMs: atMs });
}

/** The first removed class that is in use. The usage is read only when a class is removed, because each claim changes it. */
async function usedClass(
  tx: Transaction,
  provider: Tables['provider'],
  inventories: Inventories,
): Promise<string | undefined> {
  const gone = Object.keys(provider.inventories).filter((resourceClass) => !inventories[resourceClass]);
  if (gone.length === 0) return undefined;
  const used = (await tx.get('usage', provider.uuid))?.used ?? {};
  return gone.find((resourceClass) => used[resourceClass] !== undefined);
}
