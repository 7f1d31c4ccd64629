import type { InventoryDocuments } from '../client/placement-documents';
import type { Endpoint } from './endpoint';
import type { ProviderState } from './snapshot';
import { request, type Written } from './write-request';

/** Names that the destination has. */
interface KnownNames {
  readonly resourceClasses: ReadonlySet<string>;
  readonly traits: ReadonlySet<string>;
}

/**
 * Makes a provider what it is at the source: its place in the tree, inventories, traits and aggregates. Names that the
 * destination does not have are left out, and stay a difference. Ends at the first refusal.
 */
export async function writeProvider(
  to: Endpoint,
  source: ProviderState,
  there: ProviderState | undefined,
  names: KnownNames,
): Promise<Written> {
  const path = `/resource_providers/${source.uuid}`;
  const [name, parent] = [source.name, { parent_provider_uuid: source.parentUuid }];
  let generation = there?.generation ?? 0;
  let writes = 0;
  const steps: (() => ReturnType<typeof request>)[] = [];
  if (there === undefined) {
    steps.push(() =>
      request(to, { method: 'POST', path: '/resource_providers', body: { uuid: source.uuid, name, ...parent } }),
    );
  } else if (there.name !== name || there.parentUuid !== source.parentUuid) {
    steps.push(() => request(to, { method: 'PUT', path, body: { name, ...parent } }));
  }
  const replace = (part: string, body: object) =>
    steps.push(() =>
      request(to, {
        method: 'PUT',
        path: `${path}/${part}`,
        body: { ...body, resource_provider_generation: generation },
      }),
    );
  const inventories = only(source.inventories, names.resourceClasses);
  const traits = source.traits.filter((trait) => names.traits.has(trait));
  const isOther = (mine: unknown, its: unknown) => JSON.stringify(mine) !== JSON.stringify(its ?? mine);
  if (there ? isOther(sorted(inventories), sorted(there.inventories)) : Object.keys(inventories).length > 0) {
    replace('inventories', { inventories });
  }
  if (there ? isOther(traits, there.traits) : traits.length > 0) replace('traits', { traits });
  if (there ? isOther(source.aggregates, there.aggregates) : source.aggregates.length > 0) {
    replace('aggregates', { aggregates: source.aggregates });
  }
  for (const step of steps) {
    const { answer, refused } = await step();
    if (refused) return { writes, refused };
    writes++;
    const { resource_provider_generation: raised, generation: shown } = (answer.body ?? {}) as Record<string, number>;
    generation = raised ?? shown ?? generation;
  }
  return { writes };
}

function only(inventories: InventoryDocuments, names: ReadonlySet<string>): InventoryDocuments {
  return Object.fromEntries(Object.entries(inventories).filter(([name]) => names.has(name)));
}

function sorted(inventories: InventoryDocuments): unknown {
  const rows = Object.entries(inventories).map(([name, it]) => [
    name,
    it.total,
    it.reserved,
    it.min_unit,
    it.max_unit,
    it.step_size,
    it.allocation_ratio,
  ]);
  return rows.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}
