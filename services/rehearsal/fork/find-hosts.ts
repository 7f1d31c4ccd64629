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

/** A domain of the name `host` is one host. */
const HOST = 'host';

/**
 * The hosts of each domain of a name, such as each rack, by the metadata of their aggregates.
 *
 * @throws BerthError `not_found / no_such_domain` when no aggregate with hosts has that name in its metadata
 */
export function domainsOf({ placement }: FleetSnapshot, name: string): ReadonlyMap<string, readonly string[]> {
  const aggregates = rowsOf(placement, 'aggregate');
  const domains = new Map<string, string[]>();
  for (const host of rowsOf(placement, 'host').values()) {
    const its = host.aggregates.flatMap((uuid) => aggregates.get(uuid) ?? []);
    for (const domain of name === HOST ? [host.name] : metadataOf(its, name)) {
      domains.set(domain, [...(domains.get(domain) ?? []), host.name]);
    }
  }
  if (domains.size > 0) return new Map([...domains].sort(([a], [b]) => (a < b ? -1 : 1)));
  throw new BerthError('not_found', 'no_such_domain', `no aggregate with hosts says '${name}' in its metadata`);
}

function noSuchHost(message: string): BerthError {
  return new BerthError('not_found', 'no_such_host', message);
}
