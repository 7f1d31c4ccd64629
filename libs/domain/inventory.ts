/**
 * Amounts of resource classes, keyed by class name (`VCPU`, `CUSTOM_GOLD`). Whole units of the class: MEMORY_MB in MiB,
 * DISK_GB in GiB, all others a count.
 */
export type Resources = Readonly<Record<string, number>>;

/** What a provider has of one resource class, as in Placement: whole units, ratio > 0. */
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

/** An inventory with Placement's defaults for whatever is not given. */
export function inventory(total: number, rest: Partial<Omit<Inventory, 'total'>> = {}): Inventory {
  return { total, reserved: 0, allocationRatio: 1, minUnit: 1, maxUnit: MAX_AMOUNT, stepSize: 1, ...rest };
}

/** What may be allocated in all: `(total - reserved) * allocation_ratio`, rounded down (Placement's formula). */
export function capacityOf(inv: Pick<Inventory, 'total' | 'reserved' | 'allocationRatio'>): number {
  return Math.floor((inv.total - inv.reserved) * inv.allocationRatio);
}

/** The most that one claim may take beside `used`: what is left of the capacity, but no more than `maxUnit`. */
export function availableIn(inv: Inventory, used: number): number {
  return Math.min(capacityOf(inv) - used, inv.maxUnit);
}

/** Why an amount can't be taken from an inventory: no capacity left, or not a unit that it gives. */
export type CapacityRefusal = 'capacity' | 'min_unit' | 'max_unit' | 'step_size';

/**
 * Whether `amount` more fits beside `used`; undefined when it does. The store's Lua scripts state the same rule in
 * `capacity.lua`, and a property test holds the two together.
 */
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

/** What `addResources` takes away. */
export function negated(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).map(([resourceClass, amount]) => [resourceClass, -amount]));
}

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
    for (const [resourceClass, one] of Object.entries(inventories)) {
      const amount = Math.min(left[resourceClass] ?? 0, roomOf(one));
      if (amount <= 0) continue;
      put[resourceClass] = amount;
      left[resourceClass] = (left[resourceClass] ?? 0) - amount;
    }
    return put;
  });
}
