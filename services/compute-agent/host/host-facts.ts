import { createHash } from 'node:crypto';
import { BerthError } from '#libs/domain/errors';
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
    providerUuid: providerUuidOf(config.cell, name),
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

/** A UUID made of cell and name (RFC 9562, version 8): a host is the same provider after it lost its state. */
function providerUuidOf(cell: string, host: string): string {
  const hex = createHash('sha256').update(`berth provider ${cell}/${host}`).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}
