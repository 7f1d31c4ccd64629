import type { Allocations } from '../domain/consumer';
import type { ServerGroup } from '../domain/server-group';

/** What a sealed allocation request says: who may claim what, where. */
export interface AllocationRequest {
  readonly consumerUuid: string;
  readonly host: string;
  readonly allocations: Allocations;
  readonly projectId: string;
  readonly userId: string;
  readonly group: ServerGroup | undefined;
  readonly mappings: Readonly<Record<string, readonly string[]>>;
}
