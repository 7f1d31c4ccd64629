import type { HostState } from '../decision/host-state';
import type { WeighedClass } from '../decision/known-hosts';
import type { FilterContext } from '../filters/filter';
import { imagePropertiesWeigher } from './image-properties';
import { metricsWeigher } from './metrics';
import type { Weigher } from './weigher';

function freeAmount(name: string, multiplier: string, resourceClass: WeighedClass): Weigher {
  return { name, multiplier, least: 0, prepare: () => (host) => host.free(resourceClass) };
}

function membersOf(policy: string, sign: 1 | -1): Weigher['prepare'] {
  return ({ request: { group }, locate }: FilterContext) => {
    if (group?.policy !== policy) return undefined;
    const membersOn = locate(group.members);
    return (host) => sign * membersOn(host).size;
  };
}

/** Hosts with as many free PCI devices, or more, are alike. */
const MAX_DEVICES = 100;

function freeDevices({ hardware }: HostState): number {
  return hardware?.pools.reduce((sum, { count }) => sum + count, 0) ?? 0;
}

/** Nova's weighers that Berth has, by the option for their multiplier. */
export const WEIGHERS = {
  cpu: freeAmount('CPUWeigher', 'cpu_weight_multiplier', 'VCPU'),
  ram: freeAmount('RAMWeigher', 'ram_weight_multiplier', 'MEMORY_MB'),
  disk: freeAmount('DiskWeigher', 'disk_weight_multiplier', 'DISK_GB'),
  ioOps: {
    name: 'IoOpsWeigher',
    multiplier: 'io_ops_weight_multiplier',
    least: 0,
    prepare: () => (host) => host.ioOps,
  },
  numInstances: {
    name: 'NumInstancesWeigher',
    multiplier: 'num_instances_weight_multiplier',
    prepare: () => (host) => host.instanceCount,
  },
  hypervisorVersion: {
    name: 'HypervisorVersionWeigher',
    multiplier: 'hypervisor_version_weight_multiplier',
    prepare: () => (host) => host.node.hypervisorVersion,
  },
  buildFailure: {
    name: 'BuildFailureWeigher',
    multiplier: 'build_failure_weight_multiplier',
    isNegated: true,
    prepare: () => (host) => host.hardware?.failedBuilds ?? 0,
  },
  pci: {
    name: 'PCIWeigher',
    multiplier: 'pci_weight_multiplier',
    prepare: () => (host) => MAX_DEVICES - Math.min(freeDevices(host), MAX_DEVICES - 1),
  },
  softAffinity: {
    name: 'ServerGroupSoftAffinityWeigher',
    multiplier: 'soft_affinity_weight_multiplier',
    prepare: membersOf('soft-affinity', 1),
  },
  softAntiAffinity: {
    name: 'ServerGroupSoftAntiAffinityWeigher',
    multiplier: 'soft_anti_affinity_weight_multiplier',
    prepare: membersOf('soft-anti-affinity', -1),
  },
  metrics: metricsWeigher,
  imageProperties: imagePropertiesWeigher,
  crossCell: {
    name: 'CrossCellWeigher',
    multiplier: 'cross_cell_move_weight_multiplier',
    prepare({ request: { spec } }) {
      const { cell, allow_cross_cell_move: isAllowed = false } = spec.requested_destination ?? {};
      if (cell?.uuid === undefined || !isAllowed) return undefined;
      return (host) => (host.node.cellUuid === cell.uuid ? 1 : -1);
    },
  },
} as const satisfies Readonly<Record<string, Weigher>>;

export type WeigherName = keyof typeof WEIGHERS;

/** Those that weigh all hosts alike without Nova's database. */
export const DATABASE_WEIGHERS: readonly WeigherName[] = ['buildFailure', 'pci', 'metrics', 'imageProperties'];
