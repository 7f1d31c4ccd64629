import type { Allocations } from '#libs/domain/consumer';
import type { Resources } from '#libs/domain/inventory';

/** What a client writes about one consumer; until 1.11 the allocations are a list. */
export interface ConsumerBody {
  readonly allocations: Readonly<Record<string, { readonly resources: Resources }>> | ListedAllocations;
  readonly project_id?: string;
  readonly user_id?: string;
  readonly consumer_generation?: number | null;
  readonly consumer_type?: string;
  readonly mappings?: Readonly<Record<string, readonly string[]>>;
}

type ListedAllocations = readonly {
  readonly resource_provider: { readonly uuid: string };
  readonly resources: Resources;
}[];

/** The allocations of a body, by provider. */
export function allocationsOf({ allocations }: ConsumerBody): Allocations {
  const entries = isList(allocations)
    ? allocations.map(({ resource_provider: { uuid }, resources }) => [uuid, resources] as const)
    : Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources] as const);
  return Object.fromEntries(entries);
}

function isList(allocations: ConsumerBody['allocations']): allocations is ListedAllocations {
  return Array.isArray(allocations);
}
