import type {
  Amounts,
  CandidatesDocument,
  ConsumerDocument,
  InventoryDocuments,
  ProviderAllocations,
  ProviderDocument,
  UsagesByType,
} from './placement-documents';
import { getDocument, type PlacementAddress, type Query } from './placement-http';

/** Limit of concurrent calls of one command. */
export const CALLS_IN_FLIGHT = 16;

/** The placement API's client for commands. */
export type PlacementClient = ReturnType<typeof createPlacementClient>;

/** A client of the placement API at this address. Each method is one GET; errors as in `getDocument`. */
export function createPlacementClient(address: PlacementAddress) {
  const get = async <T>(key: string, path: string, query?: Query): Promise<T> =>
    (await getDocument<Record<string, T>>(address, path, query))[key] as T;
  const ofProvider = <T>(uuid: string, what: string) => get<T>(what, `/resource_providers/${uuid}/${what}`);
  return {
    providers: (query?: Query) => get<ProviderDocument[]>('resource_providers', '/resource_providers', query),
    inventories: (uuid: string) => ofProvider<InventoryDocuments>(uuid, 'inventories'),
    /** By class, for each class in the provider's inventories. */
    usages: (uuid: string) => ofProvider<Amounts>(uuid, 'usages'),
    traits: (uuid: string) => ofProvider<string[]>(uuid, 'traits'),
    aggregates: (uuid: string) => ofProvider<string[]>(uuid, 'aggregates'),
    allocationsOn: (uuid: string) => ofProvider<ProviderAllocations>(uuid, 'allocations'),
    allocationsOf: (consumer: string) => getDocument<ConsumerDocument>(address, `/allocations/${consumer}`),
    candidates: (query: Query, withIds = false) => {
      const headers: Record<string, string> = withIds ? { 'berth-candidate-ids': 'true' } : {};
      return getDocument<CandidatesDocument>(address, '/allocation_candidates', query, headers);
    },
    projectUsages: (query: Query) => get<UsagesByType>('usages', '/usages', query),
  };
}
