import { mapConcurrently } from '#libs/runtime/concurrent';
import type {
  Amounts,
  ConsumerDocument,
  InventoryDocuments,
  ProviderAllocations,
  ProviderDocument,
} from '../client/placement-documents';
import type { ShowProgress } from '../views/progress';
import type { Endpoint } from './endpoint';

/** A provider as a placement API shows it. */
export interface ProviderState {
  readonly uuid: string;
  readonly name: string;
  readonly parentUuid: string | null;
  readonly generation: number;
  readonly inventories: InventoryDocuments;
  /** Sorted, like aggregates. */
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface ConsumerState {
  readonly uuid: string;
  readonly projectId: string;
  readonly userId: string;
  /** `unknown` where the API has no types. */
  readonly consumerType: string;
  readonly generation: number;
  /** By provider. */
  readonly allocations: Readonly<Record<string, Amounts>>;
}

/** All that a placement API holds, read part by part: not one moment, when others write meanwhile. */
export interface Snapshot {
  readonly resourceClasses: ReadonlySet<string>;
  readonly traits: ReadonlySet<string>;
  /** By uuid, like consumers. */
  readonly providers: ReadonlyMap<string, ProviderState>;
  readonly consumers: ReadonlyMap<string, ConsumerState>;
}

/** Limit of requests to one side at once. */
export const IN_FLIGHT = 8;
export const UNKNOWN_TYPE = 'unknown';

/** Reads everything. What is deleted meanwhile is left out. @throws BerthError */
export async function readSnapshot(from: Endpoint, show: ShowProgress = () => {}): Promise<Snapshot> {
  const { listed, ...names } = await readNames(from);
  const consumerUuids = new Set<string>();
  let done = 0;
  const providers = await mapConcurrently(listed, IN_FLIGHT, async (provider) => {
    const read = await readProvider(from, provider);
    for (const uuid of Object.keys(read?.allocations ?? {})) consumerUuids.add(uuid);
    show(++done, listed.length, () => 'providers');
    return read?.provider;
  });
  const total = listed.length + consumerUuids.size;
  const consumers = await mapConcurrently([...consumerUuids], IN_FLIGHT, async (uuid) => {
    const consumer = await readConsumer(from, uuid);
    show(++done, total, () => 'consumers');
    return consumer;
  });
  return {
    ...names,
    providers: new Map(providers.flatMap((provider) => (provider ? [[provider.uuid, provider]] : []))),
    consumers: new Map(consumers.flatMap((consumer) => (consumer ? [[consumer.uuid, consumer]] : []))),
  };
}

/** The names of a side, and its providers as they are listed. */
export async function readNames(from: Endpoint) {
  const { resource_classes: classes } = await from.get<{ resource_classes: { name: string }[] }>('/resource_classes');
  const { traits } = await from.get<{ traits: string[] }>('/traits');
  const { resource_providers: listed } = await from.get<{ resource_providers: ProviderDocument[] }>(
    '/resource_providers',
  );
  return { resourceClasses: new Set(classes.map(({ name }) => name)), traits: new Set(traits), listed };
}

/** A provider with what is held there; undefined for one that was deleted meanwhile. Its generation is that of the list: never too new. */
export async function readProvider(from: Endpoint, { uuid, name, parent_provider_uuid, generation }: ProviderDocument) {
  const part = <T>(what: string) => from.find<T>(`/resource_providers/${uuid}/${what}`);
  const [inventories, traits, aggregates, allocations] = await Promise.all([
    part<{ inventories: InventoryDocuments }>('inventories'),
    part<{ traits: string[] }>('traits'),
    part<{ aggregates: string[] }>('aggregates'),
    part<{ allocations: ProviderAllocations }>('allocations'),
  ]);
  if (!inventories || !traits || !aggregates || !allocations) return undefined;
  const provider: ProviderState = {
    uuid,
    name,
    parentUuid: parent_provider_uuid,
    generation,
    inventories: inventories.inventories,
    traits: traits.traits.toSorted(),
    aggregates: aggregates.aggregates.toSorted(),
  };
  return { provider, allocations: allocations.allocations };
}

/** Undefined for a consumer that holds nothing any more. */
export async function readConsumer(from: Endpoint, uuid: string): Promise<ConsumerState | undefined> {
  const document = await from.get<ConsumerDocument>(`/allocations/${uuid}`);
  const { allocations, project_id = '', user_id = '', consumer_generation, consumer_type = UNKNOWN_TYPE } = document;
  if (Object.keys(allocations).length === 0) return undefined;
  return {
    uuid,
    projectId: project_id,
    userId: user_id,
    consumerType: consumer_type,
    generation: consumer_generation ?? 0,
    allocations: Object.fromEntries(
      Object.entries(allocations).map(([provider, { resources }]) => [provider, resources]),
    ),
  };
}
