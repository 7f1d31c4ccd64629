import { isDeepStrictEqual } from 'node:util';
import type { Device } from '../../../domain/devices/device';
import type { Inventories, Inventory } from '../../../domain/inventory';
import { countUsers } from '../catalogue';
import type { StoredProvider } from '../tables';
import type { Transaction } from '../transaction';
import { type MergedProvider, reportedClasses } from './merge-report';

/** Where a reported provider is, and whose. A provider that is there keeps its name. */
export type Place = Pick<StoredProvider, 'uuid' | 'name' | 'parentUuid' | 'rootUuid' | 'host' | 'device'>;

/** Writes a provider as a report leaves it, unless it is so already. Its place alone does not raise its generation. */
export function putReported(
  tx: Transaction,
  place: Place,
  merged: MergedProvider,
  { provider, atMs }: { readonly provider: StoredProvider | undefined; readonly atMs: number },
): void {
  const { uuid, name, parentUuid, host } = place;
  const device = place.device && withTaints(datedTaints(place.device, provider?.device, atMs), provider);
  const isUnchanged = provider !== undefined && hasAlready(provider, merged);
  const isInPlace = provider?.host === host && provider?.parentUuid === parentUuid;
  const isSame = isUnchanged && isInPlace && isDeepStrictEqual(provider.device, device);
  if (isSame && isDeepStrictEqual(provider.reported, merged.reported)) return;
  countUsers(tx, 'resource_class', Object.keys(provider?.inventories ?? {}), Object.keys(merged.inventories));
  countUsers(tx, 'trait', provider?.traits ?? [], merged.traits);
  const { device: _before, ...base } = provider ?? { ...place, createdAtMs: atMs };
  const facts = device === undefined ? {} : { device };
  tx.put('provider', uuid, { ...base, ...merged, ...facts, parentUuid, host, updatedAtMs: atMs });
  if (provider) return tx.write({ kind: isUnchanged ? 'show' : 'raise', key: uuid });
  tx.put('usage', uuid, { generation: 0, used: {} });
  tx.put('name', name, { uuid });
}

/** A device with the taints that operators gave it, over its agent's. */
export function withTaints(
  device: Device,
  { tainted = {}, evicting = {} }: Pick<StoredProvider, 'tainted' | 'evicting'> = {},
): Device {
  if (Object.keys(tainted).length === 0) return device;
  const { evicts: own = {}, ...rest } = device;
  const agents = Object.entries(own).filter(([key]) => !Object.hasOwn(tainted, key));
  const evicts = { ...Object.fromEntries(agents), ...evicting };
  return { ...rest, taints: { ...device.taints, ...tainted }, ...(Object.keys(evicts).length > 0 ? { evicts } : {}) };
}

/** A reported device whose taints stand since they were reported first. */
function datedTaints(device: Device, before: Device | undefined, atMs: number): Device {
  if (!device.evicts) return device;
  const dated = Object.keys(device.evicts).map((key) => [key, before?.evicts?.[key] ?? atMs] as const);
  return { ...device, evicts: Object.fromEntries(dated) };
}

/** The agent's inventories of a provider that are in use and that its report leaves out. */
export async function inUse(
  tx: Transaction,
  provider: StoredProvider | undefined,
  reported: Inventories,
): Promise<Inventories> {
  const gone = provider ? reportedClasses(provider).filter((resourceClass) => !reported[resourceClass]) : [];
  if (!provider || gone.length === 0) return {};
  // Read only now: each claim changes it, and would make this report start again.
  const used = (await tx.get('usage', provider.uuid))?.used ?? {};
  const kept = gone.filter((resourceClass) => used[resourceClass] !== undefined);
  return Object.fromEntries(
    kept.map((resourceClass) => [resourceClass, provider.inventories[resourceClass] as Inventory]),
  );
}

function hasAlready(provider: StoredProvider, merged: MergedProvider): boolean {
  return (['inventories', 'traits', 'aggregates'] as const).every((part) =>
    isDeepStrictEqual(provider[part], merged[part]),
  );
}
