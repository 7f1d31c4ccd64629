import type { Instance } from '#libs/domain/instance';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { StoreImage } from '#libs/placement/port/placement-store';
import { rowsOf } from '../fork/rows-of';

export interface FleetAtEnd {
  readonly before: StoreImage;
  readonly after: StoreImage;
  readonly records: readonly Instance[];
  /** The uuids of what is on a host. */
  readonly instancesOn: (host: string) => readonly string[];
}

/** Most of one kind that are named. */
const NAMED = 3;

/**
 * The invariants that do not hold at the end of a rehearsal: no provider above its capacity that was not before, a claim for
 * what runs, and what is recorded as ACTIVE or STOPPED is on its host.
 */
export function checkAtEnd({ before, after, records, instancesOn }: FleetAtEnd): readonly string[] {
  const wereAbove = new Set(aboveCapacity(before));
  const above = aboveCapacity(after).filter((what) => !wereAbove.has(what));
  const consumers = rowsOf(after, 'consumer');
  const roots = new Map(Array.from(rowsOf(after, 'host'), ([host, { providerUuid }]) => [host, providerUuid]));
  const settled = records.filter(({ state }) => state === 'active' || state === 'stopped');
  const unclaimed = settled.filter(({ uuid }) => !consumers.has(uuid));
  const onHosts = new Map(Array.from(roots.keys(), (host) => [host, new Set(instancesOn(host))]));
  const absent = settled.filter(({ uuid, host = '' }) => onHosts.get(host)?.has(uuid) !== true);
  return [
    ...said('above its capacity', above),
    ...said(
      'recorded on a host without a claim',
      unclaimed.map(({ uuid }) => uuid),
    ),
    ...said(
      'recorded on a host that does not have it',
      absent.map(({ uuid }) => uuid),
    ),
  ];
}

function said(what: string, which: readonly string[]): readonly string[] {
  const more = which.length > NAMED ? ` and ${which.length - NAMED} more` : '';
  return which.length === 0 ? [] : [`${what}: ${which.slice(0, NAMED).join(', ')}${more}`];
}

function aboveCapacity(image: StoreImage): readonly string[] {
  const used = new Map<string, Resources>();
  for (const { allocations } of rowsOf(image, 'consumer').values()) {
    for (const [uuid, resources] of Object.entries(allocations)) {
      used.set(uuid, addResources(used.get(uuid) ?? {}, resources));
    }
  }
  return Array.from(rowsOf(image, 'provider'), ([uuid, { name, inventories }]) => {
    return Object.entries(used.get(uuid) ?? {}).flatMap(([resourceClass, amount]) => {
      const inventory = inventories[resourceClass];
      return amount > (inventory ? capacityOf(inventory) : 0) ? [`${resourceClass} of ${name}`] : [];
    });
  }).flat();
}
