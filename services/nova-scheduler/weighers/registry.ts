import type { WeighedClass } from '../decision/known-hosts';
import type { FilterContext } from '../filters/filter';
import type { Weigher } from './weigher';

function freeAmount(name: string, multiplier: string, resourceClass: WeighedClass): Weigher {
  return { name, multiplier, least: 0, prepare: () => (host) => host.free(resourceClass) };
}

function membersOf(policy: string, sign: 1 | -1): Weigher['prepare'] {
  return ({ request: { group }, locate }: FilterContext) => {
    if (group?.policy !== policy) return () => 0;
    const membersOn = locate(group.members);
    return (host) => sign * membersOn(host).size;
  };
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
  crossCell: {
    name: 'CrossCellWeigher',
    multiplier: 'cross_cell_move_weight_multiplier',
    prepare({ request: { spec } }) {
      const { cell, allow_cross_cell_move: isAllowed = false } = spec.requested_destination ?? {};
      if (cell?.uuid === undefined || !isAllowed) return () => 0;
      return (host) => (host.node.cellUuid === cell.uuid ? 1 : -1);
    },
  },
} as const satisfies Readonly<Record<string, Weigher>>;

export type WeigherName = keyof typeof WEIGHERS;

/** Nova's weighers that Berth lacks, with the multiplier that a stock scheduler gives them: they look at Nova's database. */
export const ABSENT_WEIGHERS = [
  {
    name: 'BuildFailureWeigher',
    section: 'filter_scheduler',
    multiplier: 'build_failure_weight_multiplier',
    byDefault: 1_000_000,
  },
  { name: 'PCIWeigher', section: 'filter_scheduler', multiplier: 'pci_weight_multiplier', byDefault: 1 },
  {
    name: 'ImagePropertiesWeigher',
    section: 'filter_scheduler',
    multiplier: 'image_props_weight_multiplier',
    byDefault: 0,
  },
  // Without a weight_setting, its default, it weighs all hosts alike.
  { name: 'MetricsWeigher', section: 'metrics', multiplier: 'weight_multiplier', byDefault: 0 },
] as const;
