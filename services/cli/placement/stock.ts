import { capacityOf } from '#libs/domain/inventory';
import { STANDARD_RESOURCE_CLASSES } from '#libs/domain/standard-names';
import { inFlight } from '../pool';
import type { Amounts, InventoryDocument, InventoryDocuments, ProviderDocument } from './documents';
import { CALLS_IN_FLIGHT, type PlacementClient } from './placement-client';

/** A provider with what it has and what is in use of it. */
export interface StockedProvider extends ProviderDocument {
  readonly inventories: InventoryDocuments;
  readonly usages: Amounts;
}

/** How full a provider is in one class. */
export interface Fill {
  readonly resourceClass: string;
  readonly used: number;
  readonly capacity: number;
}

/** Reads what providers have, in their order: two calls for each, for the API has no way to ask about several. */
export async function stock(
  client: PlacementClient,
  providers: readonly ProviderDocument[],
): Promise<StockedProvider[]> {
  const stocked = new Map<string, StockedProvider>();
  await inFlight(providers, CALLS_IN_FLIGHT, async (provider) => {
    const { uuid } = provider;
    const [inventories, usages] = await Promise.all([client.inventories(uuid), client.usages(uuid)]);
    stocked.set(uuid, { ...provider, inventories, usages });
  });
  return providers.flatMap(({ uuid }) => stocked.get(uuid) ?? []);
}

/** How full a provider is, class by class. */
export function fillsOf({ inventories, usages }: Pick<StockedProvider, 'inventories' | 'usages'>): Fill[] {
  return Object.entries(inventories)
    .map(([resourceClass, inventory]) => ({
      resourceClass,
      used: usages[resourceClass] ?? 0,
      capacity: capacityIn(inventory),
    }))
    .sort((a, b) => compareClasses(a.resourceClass, b.resourceClass));
}

/** What may be allocated in all. */
export function capacityIn({ total, reserved, allocation_ratio: allocationRatio }: InventoryDocument): number {
  return capacityOf({ total, reserved, allocationRatio });
}

/** Standard classes as Placement numbers them (VCPU, MEMORY_MB, DISK_GB, ...), then others by name. */
export function compareClasses(a: string, b: string): number {
  return rankOf(a) - rankOf(b) || a.localeCompare(b);
}

function rankOf(resourceClass: string): number {
  const rank = STANDARD_RESOURCE_CLASSES.indexOf(resourceClass);
  return rank === -1 ? STANDARD_RESOURCE_CLASSES.length : rank;
}
