import type { Client } from '#libs/client/client';
import { nameOfState } from '#libs/domain/instance';

/** A completion of a word, and its description. */
export type Candidate = readonly [value: string, description: string];

/** Kinds of things whose names or uuids people type. */
export type Named = 'host' | 'instance' | 'node' | 'flavor' | 'zone' | 'group' | 'aggregate';

/** Limit of the offered names. */
const MOST = 500;

/** The present names of each kind, with a short description. Errors as in the client's calls. */
export const NAMES: Readonly<Record<Named, (client: Client) => Promise<Candidate[]>>> = {
  async host(client) {
    const hosts = await client.hosts();
    return hosts.map(({ host, up, enabled }) => [host, up ? (enabled ? 'up' : 'disabled') : 'down'] as const);
  },
  async instance(client) {
    const instances = await client.instances({}, MOST);
    const open = instances.filter(({ state }) => state !== 'deleted');
    return open.map(
      ({ uuid, name, state, host }) => [uuid, `${name} ${nameOfState(state)} ${host}`.trimEnd()] as const,
    );
  },
  async node(client) {
    return (await client.nodes()).map(({ host, state }) => [host, state] as const);
  },
  async flavor(client) {
    return (await client.flavors()).map(({ name, description }) => [name, description] as const);
  },
  async zone(client) {
    const { zones } = await client.aggregates.zones();
    return zones.map(({ name }) => [name, ''] as const);
  },
  async group(client) {
    return (await client.groups.list()).map(({ name, policy }) => [name, policy] as const);
  },
  async aggregate(client) {
    return (await client.aggregates.list()).map(({ name }) => [name, ''] as const);
  },
};
