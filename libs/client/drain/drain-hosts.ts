import type { Client } from '../client';
import type { Drained } from './drain-host';

/** The outcome for one host. */
export interface DrainedHost {
  readonly host: string;
  readonly drained: readonly Drained[];
}

/**
 * Drains hosts one after the other. All are taken out of service first: the instances of one must not move to the next.
 *
 * @param drain  drains one of them
 */
export async function* drainHosts(
  client: Pick<Client, 'setHostEnabled'>,
  {
    hosts,
    reason,
    signal,
  }: { readonly hosts: readonly string[]; readonly reason: string; readonly signal: AbortSignal },
  drain: (host: string) => Promise<readonly Drained[]>,
): AsyncGenerator<DrainedHost> {
  await Promise.all(hosts.map((host) => client.setHostEnabled(host, false, reason)));
  for (const host of hosts) {
    yield { host, drained: await drain(host) };
    if (signal.aborted) return;
  }
}
