import { BerthError } from '#libs/domain/errors';
import type { Host } from '#libs/domain/host';
import type { Fence } from '#libs/instances/store';
import type { ConductorContext } from '../context';
import type { Fault } from '../observation';

/** Whoever evacuates a host holds it for so long that nobody is heard in its name until that is on record. */
const FENCE_MS = 10_000;

/**
 * Makes sure that a host is dead to the store: it is down, and the lease of its agent has run out, for then the store allows to
 * take it as its holder. (An agent that is restarted in order gives its lease back, and its host is not dead.) From then on
 * what the agent says is refused as of an earlier epoch; when it is back, it asks for the host, finds in its queue what it is
 * to destroy, and takes no other order before.
 *
 * The fence lasts for a while only, and authority is never remembered: whoever is to give up what runs on a host fences it anew, and
 * writes that while the fence holds (`writeRecord`), in one commit.
 *
 * @returns by what the host is held now
 * @throws BerthError `failed_precondition / host_alive` while the lease lives; `unavailable`.
 */
export async function fenceHost(c: ConductorContext, host: string): Promise<Fence> {
  const [row] = await c.placement.hosts([host]);
  if (row?.up) throw alive(host, 'it has been heard of too lately');
  const holder = holderOf(host, row);
  const wanted = { ...holder, hosts: [host], leaseMs: FENCE_MS, atMs: c.clock.now() };
  const [grant] = await c.placement.acquireHosts(wanted);
  if (grant?.kind === 'granted') return { host, epoch: grant.epoch };
  throw alive(host, `the lease of its agent lasts for another ${Math.ceil((grant?.leftMs ?? 0) / 1_000)} s`);
}

/**
 * An operator says that a host is dead: it is fenced, and what waits for its word after a store lost writes goes on without it.
 *
 * @throws BerthError as `fenceHost`
 */
export async function declareDead(c: ConductorContext, host: string): Promise<void> {
  await fenceHost(c, host);
  await c.placement.commit({ kind: 'note_dead', host, atMs: c.clock.now() });
}

/** The fence of a host; or why there is none, because it is not dead. */
export async function fenceOf(
  c: ConductorContext,
  host: string,
): Promise<{ readonly fence: Fence } | { readonly fault: Fault }> {
  try {
    return { fence: await fenceHost(c, host) };
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    if (reason !== 'host_alive') throw thrown;
    return { fault: { reason, message } };
  }
}

/** True when it could be fenced: a host whose agent's lease lasts is silent, and not dead yet. */
export async function isFenced(c: ConductorContext, host: string): Promise<boolean> {
  return 'fence' in (await fenceOf(c, host));
}

function alive(host: string, why: string): BerthError {
  return new BerthError('failed_precondition', 'host_alive', `host ${host} is not dead: ${why}`);
}

/**
 * Lets a host's agent have it again before the fence has run out: what was to be recorded while nobody is heard in its name is.
 * Else whoever tries again and again to evacuate what no other host takes would keep a host that is back from its agent.
 */
export async function releaseFence(c: ConductorContext, host: string): Promise<void> {
  const [row] = await c.placement.hosts([host]);
  await c.placement.releaseHosts({ ...holderOf(host, row), hosts: [host] });
}

function holderOf(host: string, row: Host | undefined) {
  return { agentRun: `evacuation of ${host}`, serviceHost: row?.serviceHost ?? host };
}
