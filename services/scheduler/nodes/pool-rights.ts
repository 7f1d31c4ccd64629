import { type Identity, isPoolAgent, requireHost, wrongHost } from '#libs/contracts/identity';
import { nodeCodec } from '#libs/contracts/nodes';
import { BerthError } from '#libs/domain/errors';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { epochRefusal } from '../reports/epoch-refusal';

/*
 * Nodes are not named after the agents of their pool, and change hands: by its broker user an agent of a pool may be any pool
 * node's, and none for good. What it may do with a node is said by the store.
 */

/** @throws BerthError `permission_denied / wrong_pool` when an agent of a pool acts in another, or in none. */
export function requirePool(sender: Identity, pool: string): void {
  if (!isPoolAgent(sender) || sender.pool === pool) return;
  const message = `agent ${sender.host} of pool ${sender.pool} may not act in ${pool === '' ? 'no pool' : `pool ${pool}`}`;
  throw new BerthError('permission_denied', 'wrong_pool', message, { details: { field: 'pool' } });
}

/**
 * Hosts are the sender's to hold: by their names, or, of an agent of a pool, when they are remembered as nodes of its pool or nobody
 * has heard of them yet. So it can bring new nodes, and can take neither a host that is no node nor a node of another pool.
 *
 * @param countNew  told the names that nobody has reported; throws when they are too many
 * @throws BerthError `permission_denied / wrong_host`, `failed_precondition / too_many_new_hosts`, `unavailable`.
 */
export async function requireHoldable(
  sender: Identity,
  hosts: readonly string[],
  placement: Pick<PlacementStore, 'nodes' | 'hosts'>,
  countNew: (agent: string, unknown: readonly string[]) => void,
): Promise<void> {
  if (!isPoolAgent(sender)) return requireHosts(sender, hosts);
  const pools = await poolsOf(hosts, placement);
  const unknown = hosts.filter((_, n) => pools[n] === undefined);
  const reported = new Set((await placement.hosts(unknown)).map(({ name }) => name));
  const foreign = hosts.find((host, n) => (pools[n] === undefined ? reported.has(host) : pools[n] !== sender.pool));
  if (foreign !== undefined) throw wrongHost(sender, foreign);
  countNew(
    `${sender.pool} ${sender.host}`,
    unknown.filter((host) => !reported.has(host)),
  );
}

/**
 * A node is the sender's to write for under an epoch: by its name, or, of an agent of a pool, because it holds it by that epoch. The
 * store then refuses the write when it has another holder meanwhile.
 *
 * @throws BerthError `permission_denied / wrong_host`; of a pool's agent `failed_precondition / epoch_superseded`, `/ epoch_unknown`,
 *   `unavailable`.
 */
export async function requireHolder(
  sender: Identity,
  { host, epoch }: { readonly host: string; readonly epoch: number },
  placement: Pick<PlacementStore, 'holders'>,
): Promise<void> {
  if (!isPoolAgent(sender)) return requireHost(sender, host);
  const [holder] = await placement.holders([host]);
  if (holder?.serviceHost === sender.host && holder.epoch === epoch) return;
  // An agent learns only that another's epoch exists, not its number.
  throw holder && holder.serviceHost !== sender.host
    ? epochRefusal(host, epoch, Math.max(holder.epoch, epoch + 1))
    : epochRefusal(host, epoch, holder?.epoch);
}

/** True if the sender may read the record: an agent of a pool reads that pool's nodes only. */
export function isReadable(sender: Identity, pool: string): boolean {
  return !isPoolAgent(sender) || sender.pool === pool;
}

function requireHosts(sender: Identity, hosts: readonly string[]): void {
  for (const host of hosts) requireHost(sender, host);
}

/** The pools that hosts are remembered as nodes of, in order; undefined for those that are not. */
async function poolsOf(hosts: readonly string[], placement: Pick<PlacementStore, 'nodes'>) {
  const contents = await placement.nodes(hosts);
  return contents.map((text) => (text === undefined ? undefined : nodeCodec.decode(Buffer.from(text, 'base64')).pool));
}
