import { type Identity, isPoolAgent, requireHost, wrongHost } from '../contracts/identity';
import type { PlacementStore } from './port/placement-store';

/** What is asked of the store to know whose a host is. */
export type HoldersStore = Pick<PlacementStore, 'holders'>;

/**
 * Whose word about hosts counts: of an agent, that about hosts which are its own by their names; of an agent of a pool, that about
 * nodes which it holds now, by their leases in the store. Agents of a pool are not told apart by the names of nodes: which of them
 * holds one changes, and an earlier holder's word counts no more than a stranger's.
 *
 * @throws BerthError `permission_denied / wrong_host`; of a pool's agent `unavailable`, too.
 */
export async function requireReporter(identity: Identity, host: string, store: HoldersStore): Promise<void> {
  if (!isPoolAgent(identity)) return requireHost(identity, host);
  const [holder] = await store.holders([host]);
  if (holder?.serviceHost !== identity.host) throw wrongHost(identity, host);
}
