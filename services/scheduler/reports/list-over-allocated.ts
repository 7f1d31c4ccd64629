import type { ListOverAllocatedResponse, OverAllocated } from '#libs/contracts/hosts';
import { MAX_PAGE } from '#libs/contracts/limits';
import { capacityOf } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';

/**
 * Providers that are allocated above their capacity, class by class: what a repair claimed again, whether it fits or not,
 * or where an inventory shrank. The first `MAX_PAGE` of them.
 */
export function listOverAllocated(view: PlacementView): ListOverAllocatedResponse {
  const overAllocated: OverAllocated[] = [];
  for (const provider of view.providers()) {
    for (const [resourceClass, used] of Object.entries(view.usage(provider.uuid))) {
      const inventory = provider.inventories[resourceClass];
      const capacity = inventory ? capacityOf(inventory) : 0;
      if (used <= capacity) continue;
      const host = view.hostOfRoot(provider.rootUuid)?.name ?? '';
      const where = { providerUuid: provider.uuid, providerName: provider.name, host };
      overAllocated.push({ ...where, resourceClass, used, capacity: Math.floor(capacity) });
      if (overAllocated.length === MAX_PAGE) return { overAllocated };
    }
  }
  return { overAllocated };
}
