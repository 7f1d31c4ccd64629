/* The documents of the placement API at microversion 1.39, reduced to what commands read. */

export type Amounts = Readonly<Record<string, number>>;

export interface ProviderDocument {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent_provider_uuid: string | null;
  readonly root_provider_uuid: string;
}

export interface InventoryDocument {
  readonly total: number;
  readonly reserved: number;
  readonly min_unit: number;
  readonly max_unit: number;
  readonly step_size: number;
  readonly allocation_ratio: number;
}

/** By resource class. */
export type InventoryDocuments = Readonly<Record<string, InventoryDocument>>;

/** A consumer's allocation from one provider. */
export interface HoldingDocument {
  readonly resources: Amounts;
}

/** GET /resource_providers/{uuid}/allocations, by consumer. */
export type ProviderAllocations = Readonly<Record<string, HoldingDocument>>;

/** GET /allocations/{consumer_uuid}. Only `allocations`, empty, for a consumer that does not exist. */
export interface ConsumerDocument {
  /** By provider. */
  readonly allocations: Readonly<Record<string, HoldingDocument & { readonly generation: number }>>;
  readonly project_id?: string;
  readonly user_id?: string;
  readonly consumer_generation?: number | null;
  readonly consumer_type?: string;
}

export interface AllocationRequest {
  /** By which it may be claimed once, when ids were asked for. */
  readonly id?: string;
  /** By provider. */
  readonly allocations: Readonly<Record<string, HoldingDocument>>;
  /** Providers by the suffix of the request group that they meet; '' is the unnumbered group. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}

export interface ProviderSummary {
  readonly resources: Readonly<Record<string, { readonly capacity: number; readonly used: number }>>;
  readonly traits: readonly string[];
  readonly parent_provider_uuid: string | null;
  readonly root_provider_uuid: string;
}

/** GET /allocation_candidates */
export interface CandidatesDocument {
  readonly allocation_requests: readonly AllocationRequest[];
  /** By provider: all providers of every tree with a candidate. */
  readonly provider_summaries: Readonly<Record<string, ProviderSummary>>;
}

/** GET /usages: by consumer type, amounts by class beside `consumer_count`. */
export type UsagesByType = Readonly<Record<string, Amounts & { readonly consumer_count: number }>>;
