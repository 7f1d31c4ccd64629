import { BerthError } from '#libs/domain/errors';
import { hostProviderUuid } from '#libs/placement/port/nested-provider';
import type { HostIdentity } from '../drivers/driver';
import type { AgentConfig } from '../options';

/** Facts of a host that stay the same while its agent runs. */
export interface HostFacts {
  readonly name: string;
  readonly providerUuid: string;
  readonly cell: string;
  /** The agent process, whose queue takes the host's orders (Nova's service host of a node). */
  readonly serviceHost: string;
}

/** The facts of a host of this process. The process is its service host; a single host is its own. */
export function hostFacts(config: AgentConfig, { name }: HostIdentity): HostFacts {
  return {
    name,
    providerUuid: hostProviderUuid(config.cell, name),
    cell: config.cell,
    serviceHost: config.host,
  };
}

/**
 * The names of a process's hosts: `host`, or with several `host-001`, `host-002`, ..., padded so that they sort.
 *
 * @throws BerthError `invalid_argument / bad_config` when the driver supports one host only.
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
