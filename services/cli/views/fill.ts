import { capacityOf } from '#libs/domain/inventory';
import { STANDARD_RESOURCE_CLASSES } from '#libs/domain/standard-names';
import type { InventoryDocument } from '../client/placement-documents';
import type { StockedProvider } from '../client/providers';

/** A provider's usage and capacity of one class. */
export interface Fill {
  readonly resourceClass: string;
  readonly used: number;
  readonly capacity: number;
}

/** A provider's usage and capacity, by class in the order of `compareClasses`. */
export function fillsOf({ inventories, usages }: Pick<StockedProvider, 'inventories' | 'usages'>): Fill[] {
  return Object.entries(inventories)
    .map(([resourceClass, inventory]) => ({
      resourceClass,
      used: usages[resourceClass] ?? 0,
      capacity: capacityIn(inventory),
    }))
    .sort((a, b) => compareClasses(a.resourceClass, b.resourceClass));
}

function capacityIn({ total, reserved, allocation_ratio: allocationRatio }: InventoryDocument): number {
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
