import { isDeepStrictEqual } from 'node:util';
import type { Inventories, Inventory, Resources } from '../../../domain/inventory';
import type { HostReport } from '../../port/placement-store';
import type { DecidedInventory, ReportedInventory, StoredProvider } from '../tables';

/** An agent's report of one provider. */
export type ProviderReport = Pick<HostReport, 'inventories' | 'externalUsage' | 'traits'> &
  Partial<Pick<HostReport, 'aggregates'>>;

/** A provider as its agent and operators together make it. */
export type MergedProvider = Pick<StoredProvider, 'inventories' | 'traits' | 'aggregates' | 'reported' | 'decided'>;

/**
 * A provider as a report leaves it. One writer for each field: agents write what they measure (totals and units, their
 * own traits, what others use), operators and API clients what they decide (reserved, ratios, further classes, traits and
 * aggregates), and a report does not undo it. Whose a name is follows from the last report: what it did not say, and is
 * there, somebody else wrote.
 *
 * As with Nova's virt drivers and its provider configuration, `PUT` replaces all that is there, and the next report brings
 * back what the agent says of its own: its traits and classes; not its aggregates, unless it reports others than before.
 *
 * It says the same of the root and of every nested provider.
 */
export function mergeReport(report: ProviderReport, provider: StoredProvider | undefined): MergedProvider {
  const { traits, aggregates, inventories, externalUsage = {} } = report;
  const last = lastReport(provider);
  const present = provider ?? { inventories: {}, traits: [], aggregates: [] };
  const isNews = aggregates !== undefined && !isDeepStrictEqual(aggregates, last.aggregates);
  const isFirst = provider !== undefined && isUnreported(provider);
  const decided = isFirst ? decidedBefore(inventories, externalUsage, provider) : provider?.decided;
  return {
    ...(decided && { decided }),
    inventories: {
      ...mapEach(inventories, (inventory, name) => asDecided(inventory, externalUsage[name] ?? 0, decided?.[name])),
      ...pick(present.inventories, (name) => !inventories[name] && !last.inventories[name]),
    },
    traits: merge(present.traits, last.traits, traits),
    aggregates: isNews ? merge(present.aggregates, last.aggregates, aggregates) : present.aggregates,
    reported: {
      inventories: mapEach(inventories, ({ reserved, allocationRatio }, name): ReportedInventory => {
        const external = Math.min(reserved, externalUsage[name] ?? 0);
        return [reserved - external, allocationRatio, external];
      }),
      traits,
      aggregates: aggregates ?? last.aggregates,
    },
  };
}

/** A report that keeps inventories which it leaves out and which are in use: all that is free of them is reserved. */
export function withKept(report: ProviderReport, kept: Inventories): ProviderReport {
  const { inventories, externalUsage } = report;
  return {
    ...report,
    inventories: { ...inventories, ...mapEach(kept, (inventory) => ({ ...inventory, reserved: inventory.total })) },
    externalUsage: { ...externalUsage, ...mapEach(kept, ({ total }) => total) },
  };
}

/** True if a provider was never reported: a client of the placement API made it. */
function isUnreported({ reported, host }: StoredProvider): boolean {
  return reported === undefined && host === undefined;
}

/** Settings from before the first report count as decided by the client that made them. */
function decidedBefore(own: Inventories, external: Resources, provider: StoredProvider): StoredProvider['decided'] {
  const before = Object.entries(own).flatMap(([name, { reserved, allocationRatio }]) => {
    const present = provider.inventories[name];
    if (!present) return [];
    const decided: DecidedInventory = {
      ...choose('reserved', present.reserved, reserved - Math.min(reserved, external[name] ?? 0)),
      ...choose('allocationRatio', present.allocationRatio, allocationRatio),
    };
    return [[name, decided] as const];
  });
  return Object.fromEntries(before);
}

/** The classes of a provider that its agent wrote, and not somebody else. */
export function reportedClasses(provider: StoredProvider): readonly string[] {
  const { inventories } = lastReport(provider);
  return Object.keys(provider.inventories).filter((name) => inventories[name]);
}

/** Operators' decisions on each class, once they write these inventories. */
export function decide(provider: StoredProvider, next: Inventories): StoredProvider['decided'] {
  const { reported, decided = {}, inventories } = provider;
  if (!reported) return decided;
  return mapEach(next, (inventory, name): DecidedInventory => {
    const [agents, present] = [reported.inventories[name], inventories[name]];
    if (!agents) return {};
    const [reserved, allocationRatio, external] = agents;
    const before = decided[name] ?? {};
    const wanted = Math.max(0, inventory.reserved - external);
    return {
      ...choose('reserved', inventory.reserved === present?.reserved ? before.reserved : wanted, reserved),
      ...choose(
        'allocationRatio',
        inventory.allocationRatio === present?.allocationRatio ? before.allocationRatio : inventory.allocationRatio,
        allocationRatio,
      ),
    };
  });
}

/** Rows of before 0.2 say of a host's provider only what there is: its agent wrote it, as far as anybody knows. */
function lastReport(provider: StoredProvider | undefined): NonNullable<StoredProvider['reported']> {
  if (provider?.reported) return provider.reported;
  if (provider?.host === undefined) return { inventories: {}, traits: [], aggregates: [] };
  const { inventories, traits, aggregates } = provider;
  return {
    inventories: mapEach(inventories, ({ reserved, allocationRatio }) => [reserved, allocationRatio, 0]),
    traits,
    aggregates,
  };
}

function asDecided(inventory: Inventory, external: number, decided: DecidedInventory = {}): Inventory {
  const { reserved, allocationRatio = inventory.allocationRatio } = decided;
  if (reserved === undefined) return { ...inventory, allocationRatio };
  return { ...inventory, allocationRatio, reserved: Math.min(inventory.total, reserved + external) };
}

/** An operator's value where it differs from the agent's. */
function choose(key: keyof DecidedInventory, wanted: number | undefined, agents: number) {
  return wanted === undefined || wanted === agents ? {} : { [key]: wanted };
}

/** The present names without those of the last report, with those of this one; the same array if nothing changed. */
function merge(present: readonly string[], last: readonly string[], next: readonly string[]): readonly string[] {
  const merged = new Set([...next, ...present.filter((name) => !last.includes(name))]);
  return merged.size === present.length && present.every((name) => merged.has(name)) ? present : [...merged];
}

function mapEach<T, R>(map: Readonly<Record<string, T>>, make: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, make(value, key)]));
}

function pick(inventories: Inventories, isWanted: (name: string) => boolean): Inventories {
  return Object.fromEntries(Object.entries(inventories).filter(([name]) => isWanted(name)));
}
