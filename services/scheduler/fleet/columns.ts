import { capacityOf, type Inventories, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { HostSet } from './host-set';

/**
 * What hosts have of one resource class, by host index. Where several providers stand behind a host (a tree, sharing
 * providers), the columns say what is possible at best; the candidate search decides.
 */
export interface Amounts {
  /** What may be allocated in all; {@link ABSENT} when the host has none of the class. */
  readonly capacity: Float64Array;
  /** Capacity that is not allocated; below 0 when over-committed. */
  readonly free: Float64Array;
  /** The most that one provider has free. */
  readonly freeAtOnce: Float64Array;
  readonly minUnit: Float64Array;
  readonly maxUnit: Float64Array;
  readonly stepSize: Float64Array;
}

export const ABSENT = -1;

/** What is in use of a provider: by claims that were made, and by those on their way. */
export interface Use {
  made(providerUuid: string): Resources;
  pending(providerUuid: string): Resources | undefined;
}

/** What filters and weighers read of the fleet besides the host in hand. */
export interface FleetFacts {
  /** Columns of a class; undefined when no host has it. */
  amounts(resourceClass: string): Amounts | undefined;
  /** Hosts with the trait, on any of their providers. */
  withTrait(trait: string): HostSet;
  /** Hosts whose root is in the aggregate. */
  inAggregate(aggregate: string): HostSet;
}

/**
 * The fleet column by column, in typed arrays: a request is checked against 100,000 hosts in milliseconds. Columns come
 * with the first host that has the class, trait or aggregate, and stay.
 */
export class Columns implements FleetFacts {
  /** Rises when a column comes: whoever holds columns must ask for them again. */
  layout = 0;
  private readonly classes = new Map<string, Amounts>();
  private readonly traits = new Map<string, HostSet>();
  private readonly aggregates = new Map<string, HostSet>();
  private readonly none = new HostSet(0);
  private readonly written: (Labels | undefined)[] = [];

  /** Room for hosts with an index below `size`, a power of two. */
  constructor(readonly size: number) {}

  amounts(resourceClass: string): Amounts | undefined {
    return this.classes.get(resourceClass);
  }

  withTrait(trait: string): HostSet {
    return this.traits.get(trait) ?? this.none;
  }

  inAggregate(aggregate: string): HostSet {
    return this.aggregates.get(aggregate) ?? this.none;
  }

  /**
   * Sets all that the columns say of a host; answers whether that is news. `providers`: the root first, then the tree's
   * others and those that share.
   */
  write(index: number, providers: readonly Provider[], use: Use): boolean {
    if (isOneAsBefore(providers, this.written[index])) return this.writeFree(index, providers[0] as Provider, use);
    const labels = labelsOf(providers);
    this.clear(index);
    for (const trait of labels.traits) this.column(this.traits, trait).add(index);
    for (const aggregate of labels.aggregates) this.column(this.aggregates, aggregate).add(index);
    this.written[index] = labels;
    this.writeAmounts(index, providers, use);
    return true;
  }

  /** Takes a host out of all columns. */
  clear(index: number): void {
    const before = this.written[index];
    if (!before) return;
    for (const inventories of before.inventories) {
      for (const name in inventories) (this.classes.get(name) as Amounts).capacity[index] = ABSENT;
    }
    for (const trait of before.traits) this.withTrait(trait).delete(index);
    for (const aggregate of before.aggregates) this.inAggregate(aggregate).delete(index);
    this.written[index] = undefined;
  }

  /** What is free on a single provider of which all else is written. */
  private writeFree(index: number, { uuid, inventories }: Provider, use: Use): boolean {
    const used = use.made(uuid);
    const pending = use.pending(uuid);
    let isNews = false;
    for (const name in inventories) {
      const { capacity, free, freeAtOnce } = this.classes.get(name) as Amounts;
      const left = (capacity[index] as number) - (used[name] ?? 0) - (pending?.[name] ?? 0);
      if (free[index] === left) continue;
      isNews = true;
      free[index] = left;
      freeAtOnce[index] = left;
    }
    return isNews;
  }

  private writeAmounts(index: number, providers: readonly Provider[], use: Use): void {
    const seen = providers.length > 1 ? new Set<string>() : undefined;
    for (const provider of providers) {
      const used = use.made(provider.uuid);
      const pending = use.pending(provider.uuid);
      for (const name in provider.inventories) {
        const inventory = provider.inventories[name] as Provider['inventories'][string];
        const column = this.classes.get(name) ?? this.addClass(name);
        const capacity = capacityOf(inventory);
        const free = capacity - (used[name] ?? 0) - (pending?.[name] ?? 0);
        if (seen?.has(name)) {
          merge(column, index, capacity, free, inventory.minUnit, inventory.maxUnit);
        } else {
          column.capacity[index] = capacity;
          column.free[index] = free;
          column.freeAtOnce[index] = free;
          column.minUnit[index] = inventory.minUnit;
          column.maxUnit[index] = inventory.maxUnit;
          column.stepSize[index] = inventory.stepSize;
          seen?.add(name);
        }
      }
    }
  }

  private addClass(name: string): Amounts {
    const numbers = () => new Float64Array(this.size);
    const column: Amounts = {
      capacity: numbers().fill(ABSENT),
      free: numbers(),
      freeAtOnce: numbers(),
      minUnit: numbers(),
      maxUnit: numbers(),
      stepSize: numbers(),
    };
    this.classes.set(name, column);
    this.layout += 1;
    return column;
  }

  private column(sets: Map<string, HostSet>, name: string): HostSet {
    let set = sets.get(name);
    if (!set) {
      set = new HostSet(this.size);
      sets.set(name, set);
      this.layout += 1;
    }
    return set;
  }
}

/** What stands in the columns for a host besides amounts, to be taken out again. */
interface Labels {
  readonly inventories: readonly Inventories[];
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

function labelsOf(providers: readonly Provider[]): Labels {
  const { inventories, traits, aggregates } = providers[0] as Provider;
  if (providers.length === 1) return { inventories: [inventories], traits, aggregates };
  return {
    inventories: providers.map((provider) => provider.inventories),
    traits: providers.flatMap((provider) => provider.traits),
    aggregates,
  };
}

/** Rows are never changed in place, so what is the same object says the same. */
function isOneAsBefore(providers: readonly Provider[], before: Labels | undefined): boolean {
  const { inventories, traits, aggregates } = providers[0] as Provider;
  return (
    before !== undefined &&
    providers.length === 1 &&
    before.inventories.length === 1 &&
    traits === before.traits &&
    aggregates === before.aggregates &&
    inventories === before.inventories[0]
  );
}

/** One more provider with the class: the widest bounds of both, and any step. */
function merge(column: Amounts, index: number, capacity: number, free: number, minUnit: number, maxUnit: number): void {
  column.capacity[index] = (column.capacity[index] as number) + capacity;
  column.free[index] = (column.free[index] as number) + free;
  column.freeAtOnce[index] = Math.max(column.freeAtOnce[index] as number, free);
  column.minUnit[index] = Math.min(column.minUnit[index] as number, minUnit);
  column.maxUnit[index] = Math.max(column.maxUnit[index] as number, maxUnit);
  column.stepSize[index] = 1;
}
