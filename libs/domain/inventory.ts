/**
 * Amounts of resource classes, keyed by class name (`VCPU`, `CUSTOM_GOLD`). Whole units: MEMORY_MB in MiB, DISK_GB in
 * GiB, all others a count.
 */
export type Resources = Readonly<Record<string, number>>;

/** A provider's inventory of one resource class, as in Placement: whole units, ratio > 0. */
export interface Inventory {
  readonly total: number;
  readonly reserved: number;
  readonly allocationRatio: number;
  readonly minUnit: number;
  readonly maxUnit: number;
  readonly stepSize: number;
}

export type Inventories = Readonly<Record<string, Inventory>>;

/** The largest amount Placement knows (a signed 32-bit database integer); every amount in Berth stays within it. */
export const MAX_AMOUNT = 2_147_483_647;

/** An inventory with Placement's defaults for fields that are not given. */
export function inventory(total: number, rest: Partial<Omit<Inventory, 'total'>> = {}): Inventory {
  return { total, reserved: 0, allocationRatio: 1, minUnit: 1, maxUnit: MAX_AMOUNT, stepSize: 1, ...rest };
}

/** The capacity: `(total - reserved) * allocation_ratio`, rounded down (Placement's formula). */
export function capacityOf(inv: Pick<Inventory, 'total' | 'reserved' | 'allocationRatio'>): number {
  return Math.floor((inv.total - inv.reserved) * inv.allocationRatio);
}

/** The largest amount that one claim may take beside `used`: the free capacity, at most `maxUnit`. */
export function availableIn(inv: Inventory, used: number): number {
  return Math.min(capacityOf(inv) - used, inv.maxUnit);
}

/** Why an amount can't be allocated: no capacity, or not an allowed unit. */
export type CapacityRefusal = 'capacity' | 'min_unit' | 'max_unit' | 'step_size';

/** Why `amount` more does not fit beside `used`; undefined when it fits. */
export function refusalOf(inv: Inventory, used: number, amount: number): CapacityRefusal | undefined {
  if (amount < inv.minUnit) return 'min_unit';
  if (amount > inv.maxUnit) return 'max_unit';
  if (amount % inv.stepSize !== 0) return 'step_size';
  if (used + amount > capacityOf(inv)) return 'capacity';
  return undefined;
}

/** The sum of two amounts, class by class. */
export function addResources(a: Resources, b: Resources): Resources {
  const sum: Record<string, number> = { ...a };
  for (const [resourceClass, amount] of Object.entries(b)) sum[resourceClass] = (sum[resourceClass] ?? 0) + amount;
  return sum;
}

/** The negative amounts, so that `addResources` subtracts them. */
export function negated(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).map(([resourceClass, amount]) => [resourceClass, -amount]));
}

/**
 * Assigns usage without a known provider to the providers of its class, in order, each up to its capacity; the rest is
 * left out.
 *
 * @returns the usage by provider
 */
export function spreadUsage(
  amounts: Resources,
  providers: readonly Inventories[],
  roomOf: (inventory: Inventory) => number,
): Resources[] {
  const left: Record<string, number> = { ...amounts };
  return providers.map((inventories) => {
    const put: Record<string, number> = {};
    for (const [resourceClass, one] of Object.entries(inventories)) {
      const amount = Math.min(left[resourceClass] ?? 0, roomOf(one));
      if (amount <= 0) continue;
      put[resourceClass] = amount;
      left[resourceClass] = (left[resourceClass] ?? 0) - amount;
    }
    return put;
  });
}
