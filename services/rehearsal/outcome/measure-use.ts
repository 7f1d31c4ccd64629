import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import { isNestedUuidOf } from '#libs/placement/port/nested-provider';
import type { StoreImage } from '#libs/placement/port/placement-store';
import { rowsOf } from '../fork/rows-of';
import type { FleetUse, QuotaUse } from './outcome';

/** The classes that reports show. */
export const SHOWN: readonly string[] = ['VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU'];

/** Capacity and use of a fleet, by the rows of its store. */
export function measureUse(image: StoreImage): FleetUse {
  const providers = rowsOf(image, 'provider');
  const usages = rowsOf(image, 'usage');
  const trees = rowsOf(image, 'tree');
  let capacity: Resources = {};
  let used: Resources = {};
  const largestFree: Record<string, number> = {};
  let hosts = 0;
  for (const { providerUuid, up, enabled } of rowsOf(image, 'host').values()) {
    if (!up || !enabled) continue;
    hosts++;
    const nested = (trees.get(providerUuid)?.members ?? []).filter((uuid) => isNestedUuidOf(providerUuid, uuid));
    for (const uuid of [providerUuid, ...nested]) {
      const inventories = Object.entries(providers.get(uuid)?.inventories ?? {});
      const has = Object.fromEntries(inventories.map(([name, one]) => [name, capacityOf(one)]));
      const usedHere = usages.get(uuid)?.used ?? {};
      capacity = addResources(capacity, has);
      used = addResources(used, usedHere);
      for (const [name, amount] of Object.entries(has)) {
        largestFree[name] = Math.max(largestFree[name] ?? 0, amount - (usedHere[name] ?? 0));
      }
    }
  }
  return { hosts, capacity, used, largestFree, quotas: quotasOf(image) };
}

function quotasOf(image: StoreImage): readonly QuotaUse[] {
  const usages = rowsOf(image, 'project_usage');
  return Array.from(rowsOf(image, 'quota'), ([key, { limits }]) => {
    const held = usages.get(key)?.amounts ?? {};
    return Object.entries(limits).map(([resourceClass, limit]) => {
      return { projectId: decodeURIComponent(key), resourceClass, used: held[resourceClass] ?? 0, limit };
    });
  }).flat();
}
