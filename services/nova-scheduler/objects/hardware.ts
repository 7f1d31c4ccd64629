import { flag, integer, list, mapOf, nullable, number, object, text, unused } from './versioned-object';

/* Processors, memory and PCI devices: what a compute node has, as rows of Nova's database tell it, and what a request wants. */

const ignored = { read: unused };
const integers = list(integer);
const specs = list(mapOf(nullable(text)));

/** Networks of a host's cell, or of an instance. */
export const readNetworkMetadata = object({
  name: 'NetworkMetadata',
  newest: '1.0',
  fields: { physnets: { read: list(text) }, tunneled: { read: flag } },
});

const readMemoryPages = object({
  name: 'NUMAPagesTopology',
  newest: '1.1',
  fields: {
    size_kb: { read: integer },
    total: { read: integer },
    used: { read: number },
    reserved: { read: integer, since: '1.1' },
  },
});

const readHostCell = object({
  name: 'NUMACell',
  newest: '1.5',
  fields: {
    id: { read: integer },
    cpuset: { read: integers },
    pcpuset: { read: integers, since: '1.4' },
    memory: { read: integer },
    cpu_usage: { read: integer },
    memory_usage: { read: integer },
    pinned_cpus: { read: integers, since: '1.1' },
    siblings: { read: list(integers), since: '1.1' },
    mempages: { read: list(readMemoryPages), since: '1.2' },
    network_metadata: { read: readNetworkMetadata, since: '1.3' },
    socket: { read: integer, since: '1.5' },
  },
});

/** `compute_nodes.numa_topology` */
export const readHostTopology = object({
  name: 'NUMATopology',
  newest: '1.2',
  fields: { cells: { read: list(readHostCell) } },
});

const readPciPool = object({
  name: 'PciDevicePool',
  newest: '1.1',
  fields: {
    product_id: { read: text },
    vendor_id: { read: text },
    numa_node: { read: integer, since: '1.1' },
    tags: { read: mapOf(nullable(text)) },
    count: { read: integer },
  },
});

/** `compute_nodes.pci_stats` */
export const readPciPools = object({
  name: 'PciDevicePoolList',
  newest: '1.1',
  fields: { objects: { read: list(readPciPool) } },
});

const readInstanceCell = object({
  name: 'InstanceNUMACell',
  newest: '1.6',
  fields: {
    id: { read: integer },
    cpuset: { read: integers },
    pcpuset: { read: integers, since: '1.5' },
    cpuset_reserved: { read: unused, since: '1.4' },
    memory: { read: integer },
    pagesize: { read: integer, since: '1.1' },
    cpu_topology: { read: unused, since: '1.2' },
    cpu_pinning_raw: { read: unused, since: '1.2' },
    cpu_policy: { read: text, since: '1.3' },
    cpu_thread_policy: { read: text, since: '1.3' },
  },
});

/** The processors and memory that an instance wants. */
export const readInstanceTopology = object({
  name: 'InstanceNUMATopology',
  newest: '1.3',
  fields: {
    id: ignored,
    instance_uuid: ignored,
    cells: { read: list(readInstanceCell) },
    emulator_threads_policy: { read: text, since: '1.3' },
  },
});

const readPciRequest = object({
  name: 'InstancePCIRequest',
  newest: '1.4',
  fields: {
    count: { read: integer },
    spec: { read: specs },
    alias_name: { read: text },
    is_new: ignored,
    request_id: { read: text, since: '1.1' },
    numa_policy: { read: text, since: '1.2' },
    requester_id: { read: text, since: '1.3' },
  },
});

/** The PCI devices that an instance wants. */
export const readPciRequests = object({
  name: 'InstancePCIRequests',
  newest: '1.1',
  fields: { instance_uuid: ignored, requests: { read: list(readPciRequest) } },
});

export type HostTopologyObject = ReturnType<typeof readHostTopology>;
export type PciPoolsObject = ReturnType<typeof readPciPools>;
export type InstanceTopologyObject = ReturnType<typeof readInstanceTopology>;
export type PciRequestsObject = ReturnType<typeof readPciRequests>;
