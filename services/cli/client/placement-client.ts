import type {
  Amounts,
  CandidatesDocument,
  ConsumerDocument,
  InventoryDocuments,
  ProviderAllocations,
  ProviderDocument,
  UsagesByType,
} from './placement-documents';
import { type PlacementAddress, PlacementHttp, type Query } from './placement-http';

/** Limit of concurrent calls of one command. */
export const CALLS_IN_FLIGHT = 16;

/** What commands ask of the placement API. Each method is one GET; errors as of `PlacementHttp.get`. */
export interface PlacementClient {
  providers(query?: Query): Promise<ProviderDocument[]>;
  inventories(uuid: string): Promise<InventoryDocuments>;
  /** By class, for each class in the provider's inventories. */
  usages(uuid: string): Promise<Amounts>;
  traits(uuid: string): Promise<string[]>;
  aggregates(uuid: string): Promise<string[]>;
  allocationsOn(uuid: string): Promise<ProviderAllocations>;
  allocationsOf(consumerUuid: string): Promise<ConsumerDocument>;
  candidates(query: Query): Promise<CandidatesDocument>;
  projectUsages(query: Query): Promise<UsagesByType>;
}

/** A client of the placement API at this address. It keeps no connection open. */
export function createPlacementClient(address: PlacementAddress): PlacementClient {
  const http = new PlacementHttp(address);
  const ofProvider = async <T>(uuid: string, what: string): Promise<T> => {
    const document = await http.get<Record<string, T>>(`/resource_providers/${uuid}/${what}`);
    return document[what] as T;
  };
  return {
    providers: async (query = []) =>
      (await http.get<{ resource_providers: ProviderDocument[] }>('/resource_providers', query)).resource_providers,
    inventories: (uuid) => ofProvider(uuid, 'inventories'),
    usages: (uuid) => ofProvider(uuid, 'usages'),
    traits: (uuid) => ofProvider(uuid, 'traits'),
    aggregates: (uuid) => ofProvider(uuid, 'aggregates'),
    allocationsOn: (uuid) => ofProvider(uuid, 'allocations'),
    allocationsOf: (consumerUuid) => http.get(`/allocations/${consumerUuid}`),
    candidates: (query) => http.get('/allocation_candidates', query),
    projectUsages: async (query) => (await http.get<{ usages: UsagesByType }>('/usages', query)).usages,
  };
}
