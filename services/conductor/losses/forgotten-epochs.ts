import type { Host } from '#libs/domain/host';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';

/**
 * Ends the leases of hosts whose records rest on a later epoch than their holder's: the store gave that epoch to another run,
 * and forgot it in going back. Whatever the holder says would count as older, until its agent is restarted. Without its lease it
 * asks for the host, and is granted an epoch by the clock. (One from the future is a lie, and no lease outdoes it.)
 */
export async function endForgottenEpochs(
  c: Conductor,
  active: readonly Instance[],
  hosts: ReadonlyMap<string, Host>,
): Promise<void> {
  const deaf = new Set<Host>();
  for (const { host: name = '', activeAt } of active) {
    const host = hosts.get(name);
    const isForgotten = host?.up && activeAt && activeAt.epoch > host.epoch && activeAt.epoch <= c.clock.now();
    if (isForgotten && host.epoch > 0) deaf.add(host);
  }
  for (const { name, agentRun, serviceHost, epoch } of deaf) {
    const fields = { event: 'epoch_forgotten', host: name, epoch };
    c.log.warn(fields, 'records know a later epoch than the holder of the host, which acquires it again');
    await c.placement.releaseHosts({ hosts: [name], agentRun, serviceHost });
  }
}
