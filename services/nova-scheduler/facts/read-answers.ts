import { BerthError } from '#libs/domain/errors';
import type { CellOfHost } from './cells';
import type { NovaAggregate, NovaNode, NovaService } from './nova-facts';

type Row = Readonly<Record<string, unknown>>;

/** The rows of an answer of Nova's. @throws BerthError `unavailable / nova_nonsense` when it has none */
export function rowsOf(body: unknown, name: string): Row[] {
  const rows = (body as Row | undefined)?.[name];
  if (Array.isArray(rows)) return rows as Row[];
  throw new BerthError('unavailable', 'nova_nonsense', `an answer of Nova's API has no ${name}`);
}

export function readService(row: Row): NovaService {
  return { host: textOf(row['host']), isUp: row['state'] === 'up', isDisabled: row['status'] !== 'enabled' };
}

export function readNode(row: Row, cellOf: CellOfHost): NovaNode {
  const host = textOf((row['service'] as Row | undefined)?.['host']);
  const leastGb = row['disk_available_least'];
  return {
    uuid: textOf(row['id']),
    nodename: textOf(row['hypervisor_hostname']),
    host,
    cellUuid: cellOf(host),
    hypervisorType: textOf(row['hypervisor_type']),
    hypervisorVersion: numberOf(row['hypervisor_version']),
    ioOps: numberOf(row['current_workload']),
    ...(typeof leastGb === 'number' && { diskAvailableLeastGb: leastGb }),
    capabilities: Object.fromEntries(CAPABILITIES.filter((name) => name in row).map((name) => [name, row[name]])),
  };
}

/** Facts of a node that `capabilities:` extra specs may ask for. */
const CAPABILITIES = ['cpu_info', 'hypervisor_type', 'hypervisor_version', 'hypervisor_hostname', 'host_ip'] as const;

export function readAggregate(row: Row): NovaAggregate {
  const metadata = Object.entries((row['metadata'] ?? {}) as Row).map(([key, value]) => [key, String(value)] as const);
  return {
    id: numberOf(row['id']),
    uuid: textOf(row['uuid']),
    hosts: new Set(Array.isArray(row['hosts']) ? row['hosts'].map(String) : []),
    metadata: new Map(metadata),
  };
}

/** Uuids of servers by service host, of hypervisors with their servers. */
export function readInstances(rows: readonly Row[]): Map<string, string[]> {
  const byHost = new Map<string, string[]>();
  for (const row of rows) {
    const host = textOf((row['service'] as Row | undefined)?.['host']);
    const servers = Array.isArray(row['servers']) ? (row['servers'] as Row[]) : [];
    const uuids = servers.map(({ uuid }) => textOf(uuid));
    byHost.set(host, [...(byHost.get(host) ?? []), ...uuids]);
  }
  return byHost;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new BerthError('unavailable', 'nova_nonsense', "an answer of Nova's API lacks a name");
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
