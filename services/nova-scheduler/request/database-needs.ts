import type { DatabaseFilter } from '../filters/registry';
import type { NovaRequest } from './nova-request';

/** Filters to which a request gives something to do, and which need what only Nova's database has. */
export function databaseNeeds({ spec }: NovaRequest): DatabaseFilter[] {
  const needs: DatabaseFilter[] = [];
  if (spec.numa_topology !== undefined) needs.push('NUMATopologyFilter');
  if ((spec.pci_requests?.requests?.length ?? 0) > 0) needs.push('PciPassthroughFilter');
  return needs;
}
