import type { WriteAggregates, WriteTraits } from '../store';
import { countUsers, refuseUnknown } from './custom-names';
import { refuseGeneration } from './inventories';
import type { Refusal } from './tables';
import type { Transaction } from './transaction';

/** Replaces a provider's traits. */
export async function writeTraits(
  tx: Transaction,
  { providerUuid, generation, traits, atMs }: WriteTraits & { atMs: number },
): Promise<Refusal | undefined> {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: providerUuid };
  const refusal = (await refuseGeneration(tx, providerUuid, generation)) ?? (await refuseUnknown(tx, 'trait', traits));
  if (refusal) return refusal;
  countUsers(tx, 'trait', provider.traits, traits);
  tx.put('provider', providerUuid, { ...provider, traits, updatedAtMs: atMs });
  tx.write({ kind: 'raise', key: providerUuid });
  return undefined;
}

/** Replaces a provider's aggregates. */
export async function writeAggregates(
  tx: Transaction,
  { providerUuid, generation, aggregates, atMs }: WriteAggregates & { atMs: number },
): Promise<Refusal | undefined> {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return { kind: 'not_found', subject: 'provider', key: providerUuid };
  const refusal = await refuseGeneration(tx, providerUuid, generation);
  if (refusal) return refusal;
  tx.put('provider', providerUuid, { ...provider, aggregates, updatedAtMs: atMs });
  tx.write({ kind: generation === undefined ? 'show' : 'raise', key: providerUuid });
  return undefined;
}
