import type { Allocations } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Inventories, Resources } from '#libs/domain/inventory';
import { isNestedUuidOf, nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { HostCapacity, InstanceToBuild } from '../drivers/driver';
import type { BuildOrder } from './tracked-instance';

/** A provider of a host in the agent's present state; the root's name is ''. */
export interface OwnProvider {
  readonly name: string;
  readonly uuid: string;
  readonly inventories: Inventories;
}

/** The providers of a host, root first. */
export function ownProviders(rootUuid: string, { inventories, nested }: HostCapacity): readonly OwnProvider[] {
  const root = { name: '', uuid: rootUuid, inventories };
  return [root, ...nested.map((one) => ({ ...one, uuid: nestedProviderUuid(rootUuid, one.name) }))];
}

/** An instance's resources by provider. Without providers, as in orders of an older version, the root has all. */
export function heldByProvider(
  rootUuid: string,
  { allocations = {}, resources }: { readonly allocations?: Allocations; readonly resources: Resources },
): Allocations {
  for (const _ in allocations) return allocations;
  return { [rootUuid]: resources };
}

/** The larger amount of each class on each provider. */
export function mostByProvider(one: Allocations, other: Allocations): Allocations {
  const uuids = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(Array.from(uuids, (uuid) => [uuid, mostOf(one[uuid] ?? {}, other[uuid] ?? {})]));
}

function mostOf(one: Resources, other: Resources): Resources {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(Array.from(names, (name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}

/**
 * A claim in the form for the driver: by the names of the host's own providers. Shared providers are left out.
 *
 * @throws BerthError `failed_precondition / provider_gone` when one of the host's own does not exist any more.
 */
export function claimedByName(
  rootUuid: string,
  capacity: HostCapacity,
  { allocations, mappings }: Pick<BuildOrder, 'allocations' | 'mappings'>,
): Pick<InstanceToBuild, 'claimed' | 'mappings'> {
  const names = new Map(ownProviders(rootUuid, capacity).map(({ uuid, name }) => [uuid, name]));
  const nameOf = (uuid: string) => {
    const name = names.get(uuid);
    if (name === undefined && isNestedUuidOf(rootUuid, uuid)) throw providerGone(uuid);
    return name === undefined ? [] : [name];
  };
  return {
    claimed: Object.fromEntries(
      Object.entries(allocations).flatMap(([uuid, resources]) => nameOf(uuid).map((name) => [name, resources])),
    ),
    mappings: Object.fromEntries(
      Object.entries(mappings).map(([suffix, uuids]) => [suffix, uuids.flatMap(nameOf)] as const),
    ),
  };
}

/** The reason of a claim on a device that the host lacks. */
export const PROVIDER_GONE = 'provider_gone';

export function providerGoneMessage(uuid: string): string {
  return `this host has no provider ${uuid}: what was claimed there is gone`;
}

function providerGone(uuid: string): BerthError {
  return new BerthError('failed_precondition', PROVIDER_GONE, providerGoneMessage(uuid));
}
