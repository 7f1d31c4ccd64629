import { BerthError } from '#libs/domain/errors';
import { metadataOf } from '#libs/domain/grouping/aggregate';
import type { FleetSnapshot } from './fleet-snapshot';
import { rowsOf } from './rows-of';

/** Hosts by name, and those whose aggregates say all of this. */
export interface WantedHosts {
  readonly names: readonly string[];
  readonly metadata: readonly (readonly [name: string, value: string])[];
}

/**
 * The hosts that are meant, in the order of their names.
 *
 * @throws BerthError `not_found / no_such_host` for a name that the snapshot does not have, or when nothing is meant
 */
export function findHosts({ placement }: FleetSnapshot, { names, metadata }: WantedHosts): readonly string[] {
  const hosts = rowsOf(placement, 'host');
  const aggregates = rowsOf(placement, 'aggregate');
  const unknown = names.find((name) => !hosts.has(name));
  if (unknown !== undefined) throw noSuchHost(`no host is called ${unknown} in this snapshot of ${hosts.size}`);
  const isIn = (uuids: readonly string[]) => {
    const its = uuids.flatMap((uuid) => aggregates.get(uuid) ?? []);
    return metadata.every(([name, value]) => metadataOf(its, name).includes(value));
  };
  const found = metadata.length === 0 ? [] : [...hosts.values()].filter((host) => isIn(host.aggregates));
  const all = new Set([...names, ...found.map(({ name }) => name)]);
  if (all.size === 0) throw noSuchHost('no host is in all of these aggregates');
  return [...all].sort();
}

function noSuchHost(message: string): BerthError {
  return new BerthError('not_found', 'no_such_host', message);
}
