import { numaTopologyFilter, pciPassthroughFilter } from '../filters/hardware';
import type { NovaRequest } from './nova-request';

/** Names of the filters to which a request gives something to do, and which need what only Nova's database has. */
export function databaseNeeds({ hardware: { topology, pciRequests } }: NovaRequest): string[] {
  const needs: string[] = [];
  if (topology !== undefined) needs.push(numaTopologyFilter.name);
  if (pciRequests.length > 0) needs.push(pciPassthroughFilter.name);
  return needs;
}
