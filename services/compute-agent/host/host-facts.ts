import { BerthError } from '#libs/domain/errors';
import { hostProviderUuid } from '#libs/placement/port/nested-provider';
import type { HostIdentity } from '../drivers/driver';
import type { AgentConfig } from '../options';

/** What of a host does not change while its agent runs. */
export interface HostFacts {
  readonly name: string;
  readonly providerUuid: string;
  readonly cell: string;
  /** The agent process, by whose queue the host is given orders (Nova's service host of a node). */
  readonly serviceHost: string;
}

/** The facts of a host that this process carries. Its service host is the process: itself, when it is the only one. */
export function hostFacts(config: AgentConfig, { name }: HostIdentity): HostFacts {
  return {
    name,
    providerUuid: hostProviderUuid(config.cell, name),
    cell: config.cell,
    serviceHost: config.host,
  };
}

/**
 * The names of the hosts that a process carries: `host`, or with several `host-001`, `host-002`, ..., as wide as makes
 * the alphabet sort them.
 *
 * @throws BerthError `invalid_argument / bad_config` when the driver can't carry several.
 */
export function hostNames({ host, hosts, driver }: Pick<AgentConfig, 'host' | 'hosts' | 'driver'>): string[] {
  if (hosts === 1) return [host];
  if (driver !== 'fake') {
    const message = `BERTH_AGENT_HOSTS is ${hosts}, but only the fake driver carries more than one host`;
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const width = String(hosts).length;
  return Array.from({ length: hosts }, (_, n) => `${host}-${String(n + 1).padStart(width, '0')}`);
}
