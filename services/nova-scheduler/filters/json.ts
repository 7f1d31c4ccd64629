import type { HostState } from '../decision/host-state';
import type { HostHardware } from '../hardware/host-hardware';
import type { HostFilter } from './filter';
import {
  isTable,
  isUnknown,
  type LookUp,
  type QueryValue,
  readQuery,
  refusalBy,
  type UnknownAttribute,
} from './json-query';

/** The hint `query`: an expression over what is known of a host. */
export const jsonFilter: HostFilter = {
  name: 'JsonFilter',
  runsOnRebuild: false,
  prepare({ request }) {
    const [text = '', ...more] = request.hint('query');
    if (text === '' && more.length === 0) return undefined;
    if (more.length > 0) return () => 'the hint query has several values';
    const read = readQuery(text);
    if (read.kind === 'nothing') return undefined;
    if (read.kind === 'refused') return () => read.reason;
    return (host) => refusalBy(read.query, attributesOf(host));
  },
};

const MIB_PER_GIB = 1_024;

type Attribute = (host: HostState) => QueryValue | undefined | UnknownAttribute;

/** An attribute that is told by Nova's database alone. */
function fromDatabase(
  name: string,
  read: (hardware: HostHardware) => { readonly value: QueryValue | undefined } | undefined,
): Attribute {
  return ({ hardware }) => {
    const told = hardware && read(hardware);
    return told === undefined ? { unknown: `$${name} is not known from Nova's database` } : told.value;
  };
}

/** Attributes by Nova's names. Amounts are those of the root provider, which counts claims before nova-compute does. */
const ATTRIBUTES: Readonly<Record<string, Attribute>> = {
  host: ({ node }) => node.host,
  nodename: ({ node }) => node.nodename,
  uuid: ({ node }) => node.uuid,
  cell_uuid: ({ node }) => node.cellUuid,
  hypervisor_hostname: ({ node }) => node.nodename,
  hypervisor_type: ({ node }) => node.hypervisorType,
  hypervisor_version: ({ node }) => node.hypervisorVersion,
  host_ip({ node }) {
    const { host_ip: address } = node.capabilities;
    return typeof address === 'string' ? address : undefined;
  },
  'service.host': ({ service }) => service?.host,
  'service.disabled': ({ service }) => service?.isDisabled,
  num_instances: ({ instanceCount }) => instanceCount,
  num_io_ops: ({ ioOps }) => ioOps,
  failed_builds: fromDatabase('failed_builds', ({ failedBuilds }) => ({ value: failedBuilds })),
  cpu_info: fromDatabase('cpu_info', ({ described }) => described && { value: described.cpuInfo }),
  stats: fromDatabase('stats', ({ described }) => described?.stats && { value: described.stats }),
  supported_instances: fromDatabase(
    'supported_instances',
    ({ described }) => described && { value: described.supportedInstances },
  ),
  total_usable_ram_mb: (host) => host.amountOf('MEMORY_MB').total,
  free_ram_mb: (host) => host.amountOf('MEMORY_MB').free,
  total_usable_disk_gb: (host) => host.amountOf('DISK_GB').total,
  free_disk_mb: (host) => host.freeDiskGb * MIB_PER_GIB,
  disk_mb_used: (host) => host.amountOf('DISK_GB').used * MIB_PER_GIB,
  vcpus_total: (host) => host.amountOf('VCPU').total + host.amountOf('PCPU').total,
  vcpus_used: (host) => host.amountOf('VCPU').used + host.amountOf('PCPU').used,
  ram_allocation_ratio: (host) => host.amountOf('MEMORY_MB').ratio,
  cpu_allocation_ratio: (host) => host.amountOf('VCPU').ratio,
  disk_allocation_ratio: (host) => host.amountOf('DISK_GB').ratio,
};

const UNKNOWN_ATTRIBUTES =
  'aggregates consume_from_request instances limits metrics numa_topology pci_stats update updated'.split(' ');

/** Attributes of Nova's host that Berth does not know, and parts of those that it does. Any other name is nothing, as in Nova. */
const OF_NOVA = new Set([...Object.keys(ATTRIBUTES).map((name) => name.split('.')[0] ?? ''), ...UNKNOWN_ATTRIBUTES]);

function attributesOf(host: HostState): LookUp {
  return (path) => {
    if (Object.hasOwn(ATTRIBUTES, path)) return ATTRIBUTES[path]?.(host);
    const [first = '', ...keys] = path.split('.');
    if (Object.hasOwn(ATTRIBUTES, first)) return partOf(ATTRIBUTES[first]?.(host), path, keys);
    const isOfNova = OF_NOVA.has(first) || first.startsWith('_');
    return isOfNova ? notKnown(path) : undefined;
  };
}

/** A part of an attribute: only tables have any, and Nova fails for those of others. */
function partOf(whole: ReturnType<LookUp>, path: string, [key, ...more]: readonly string[]): ReturnType<LookUp> {
  if (whole === undefined || key === undefined || isUnknown(whole)) return whole;
  return isTable(whole) ? partOf(whole.get(key), path, more) : notKnown(path);
}

function notKnown(path: string): UnknownAttribute {
  return { unknown: `$${path} is not known to Berth` };
}
