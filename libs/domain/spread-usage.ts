import type { Inventories, Inventory, Resources } from './inventory';

/**
 * Puts amounts of which nobody says where they are used on the providers that have their class, in order, each up to its
 * room; what no provider has room for is left out.
 *
 * @returns for each provider what is put there
 */
export function spreadUsage(
  amounts: Resources,
  providers: readonly Inventories[],
  roomOf: (inventory: Inventory) => number,
): Resources[] {
  const left: Record<string, number> = { ...amounts };
  return providers.map((inventories) => {
    const put: Record<string, number> = {};
    for (const [resourceClass, inventory] of Object.entries(inventories)) {
      const amount = Math.min(left[resourceClass] ?? 0, roomOf(inventory));
      if (amount <= 0) continue;
      put[resourceClass] = amount;
      left[resourceClass] = (left[resourceClass] ?? 0) - amount;
    }
    return put;
  });
}
