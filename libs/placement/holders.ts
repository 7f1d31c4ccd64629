import { type Identity, isPoolAgent, requireHost, wrongHost } from '../contracts/identity';
import type { PlacementStore } from './port/placement-store';

/** The part of the store that knows the holders of hosts. */
export type HoldersStore = Pick<PlacementStore, 'holders'>;

/**
 * Reporters of hosts: an agent reports its own hosts, by their names; an agent of a pool reports the nodes that it holds now, by
 * their leases in the store. Agents of a pool are not told apart by names of nodes: the holder of a node changes, and an
 * earlier holder counts no more than a stranger.
 *
 * @throws BerthError `permission_denied / wrong_host`; of a pool's agent `unavailable`, too.
 */
export async function requireReporter(identity: Identity, host: string, store: HoldersStore): Promise<void> {
  if (!isPoolAgent(identity)) return requireHost(identity, host);
  const [holder] = await store.holders([host]);
  if (holder?.serviceHost !== identity.host) throw wrongHost(identity, host);
}
