import { isDeepStrictEqual } from 'node:util';
import type { InventoryDocument, InventoryDocuments } from '../client/placement-documents';
import { type ConsumerState, type ProviderState, type Snapshot, UNKNOWN_TYPE } from './snapshot';

/** One thing that the destination has otherwise than the source. */
export interface Difference {
  readonly of: 'resource class' | 'trait' | 'provider' | 'consumer';
  /** A uuid, or the name of a class or trait. */
  readonly id: string;
  readonly name?: string;
  readonly aspect: Aspect;
  readonly source?: unknown;
  readonly destination?: unknown;
}

/** `extra`: only the destination has it. */
type Aspect =
  | 'missing'
  | 'extra'
  | 'name'
  | 'parent'
  | 'inventories'
  | 'traits'
  | 'aggregates'
  | 'allocations'
  | 'owner'
  | 'generation';

export interface Comparison {
  /** Consumer types are compared where both sides have them. */
  readonly hasConsumerTypes: boolean;
  /** Generations are compared where the destination takes them: it must not be behind. */
  readonly hasGenerations: boolean;
}

/** The differences, in the order in which they are to be removed: names, providers with parents first, consumers. */
export function compare(source: Snapshot, destination: Snapshot, by: Comparison): Difference[] {
  return [
    ...missing('resource class', source.resourceClasses, destination.resourceClasses),
    ...missing('trait', source.traits, destination.traits),
    ...parentsFirst(source).flatMap((provider) =>
      providerDifferences(provider, destination.providers.get(provider.uuid), by),
    ),
    ...[...source.consumers.values()].flatMap((consumer) =>
      consumerDifferences(consumer, destination.consumers.get(consumer.uuid), by),
    ),
    ...extras('consumer', source.consumers, destination.consumers),
    ...extras('provider', source.providers, new Map(parentsFirst(destination).map((one) => [one.uuid, one]))),
  ];
}

/** Standard names that the destination lacks come up where a provider uses them. */
function missing(
  of: 'resource class' | 'trait',
  source: ReadonlySet<string>,
  there: ReadonlySet<string>,
): Difference[] {
  const names = [...source].filter((name) => name.startsWith('CUSTOM_') && !there.has(name));
  return names.map((id) => ({ of, id, aspect: 'missing' }));
}

function extras(
  of: 'provider' | 'consumer',
  source: ReadonlyMap<string, unknown>,
  there: ReadonlyMap<string, ProviderState | ConsumerState>,
): Difference[] {
  const only = [...there.values()].filter(({ uuid }) => !source.has(uuid));
  return only.map((one) => ({ of, id: one.uuid, ...('name' in one ? { name: one.name } : {}), aspect: 'extra' }));
}

function providerDifferences(
  source: ProviderState,
  there: ProviderState | undefined,
  { hasGenerations }: Comparison,
): Difference[] {
  const { uuid: id, name } = source;
  const differs = (aspect: Aspect, mine?: unknown, its?: unknown): Difference => ({
    of: 'provider',
    id,
    name,
    aspect,
    source: mine,
    destination: its,
  });
  if (there === undefined) return [differs('missing')];
  return [
    ...(name === there.name ? [] : [differs('name', name, there.name)]),
    ...(source.parentUuid === there.parentUuid ? [] : [differs('parent', source.parentUuid, there.parentUuid)]),
    ...(areSame(source.inventories, there.inventories)
      ? []
      : [differs('inventories', source.inventories, there.inventories)]),
    ...(['traits', 'aggregates'] as const)
      .filter((aspect) => !isDeepStrictEqual(source[aspect], there[aspect]))
      .map((aspect) => differs(aspect, source[aspect], there[aspect])),
    ...(hasGenerations && there.generation < source.generation
      ? [differs('generation', source.generation, there.generation)]
      : []),
  ];
}

function consumerDifferences(source: ConsumerState, there: ConsumerState | undefined, by: Comparison): Difference[] {
  const differs = (aspect: Aspect, mine?: unknown, its?: unknown): Difference => ({
    of: 'consumer',
    id: source.uuid,
    aspect,
    source: mine,
    destination: its,
  });
  if (there === undefined) return [differs('missing')];
  const [mine, its] = [ownerOf(source, by), ownerOf(there, by)];
  return [
    ...(isDeepStrictEqual(source.allocations, there.allocations)
      ? []
      : [differs('allocations', source.allocations, there.allocations)]),
    ...(isDeepStrictEqual(mine, its) ? [] : [differs('owner', mine, its)]),
    ...(by.hasGenerations && there.generation < source.generation
      ? [differs('generation', source.generation, there.generation)]
      : []),
  ];
}

function ownerOf({ projectId, userId, consumerType }: ConsumerState, { hasConsumerTypes }: Comparison) {
  return { projectId, userId, ...(hasConsumerTypes ? { consumerType: consumerType ?? UNKNOWN_TYPE } : {}) };
}

/** Placement's database may keep a ratio with six digits. */
const RATIO_PRECISION = 1e-5;

function areSame(a: InventoryDocuments, b: InventoryDocuments): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => isSameInventory(a[name], b[name]));
}

function isSameInventory(a: InventoryDocument | undefined, b: InventoryDocument | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const isNear = Math.abs(a.allocation_ratio - b.allocation_ratio) <= RATIO_PRECISION * Math.abs(a.allocation_ratio);
  return (
    isNear && (['total', 'reserved', 'min_unit', 'max_unit', 'step_size'] as const).every((key) => a[key] === b[key])
  );
}

/** The providers of a snapshot, each after its parent. */
export function parentsFirst({ providers }: Snapshot): ProviderState[] {
  const ordered = new Map<string, ProviderState>();
  const add = (provider: ProviderState | undefined): void => {
    if (provider === undefined || ordered.has(provider.uuid)) return;
    // Placement forbids loops; trees are a few levels deep.
    if (provider.parentUuid !== null) add(providers.get(provider.parentUuid));
    ordered.set(provider.uuid, provider);
  };
  for (const provider of providers.values()) add(provider);
  return [...ordered.values()];
}
