import { BerthError } from '#libs/domain/errors';
import type { EmulatorThreads, Processors } from '#libs/domain/extra-specs/processors';
import { processorsFor } from '#libs/domain/extra-specs/resolve';
import type { Resources } from '#libs/domain/inventory';
import type { InstanceToBuild } from '../driver';
import type { CoreSets, CoresWanted } from './cores';
import type { Device, MachineTree } from './machine-tree';

/** An instance's cores, NUMA nodes and devices on the machine. */
export interface Place {
  readonly cores: readonly CoresWanted[];
  /** Numbers of its NUMA nodes, and of those among them that supply memory. */
  readonly nodes: readonly number[];
  readonly memoryNodes: readonly number[];
  /** PCI addresses, or operators' names. */
  readonly devices: readonly string[];
  readonly emulatorThreads: EmulatorThreads | undefined;
  /** Number of its dedicated cores that are for real-time work. */
  readonly realtimeCount: number;
}

/**
 * Maps an instance's claim to the machine. Without claimed NUMA nodes, its VCPUs and PCPUs may use any node.
 *
 * @param taken  PCI addresses in use by other instances
 * @throws BerthError `failed_precondition / device_gone`, `/ no_free_function`.
 */
export function placeOf(
  { claimed, resources, mappings, requestSpec }: Pick<InstanceToBuild, PlacedBy>,
  { nodes, devices }: MachineTree,
  all: CoreSets,
  taken: ReadonlySet<string>,
): Place {
  const onNodes = Object.entries(claimed).flatMap(([name, amounts]) => {
    const node = nodes.get(name);
    return node === undefined ? [] : [{ name, node, amounts, hasMemory: (amounts['MEMORY_MB'] ?? 0) > 0 }];
  });
  const processors = processorsFor(requestSpec);
  const { emulatorThreads, realtime } = processors;
  // An emulator's own core is claimed beside those of the instance's first NUMA node.
  const first = mappings['_numa0']?.[0] ?? onNodes.find(({ amounts }) => (amounts['PCPU'] ?? 0) > 0)?.name;
  return {
    cores:
      onNodes.length > 0
        ? onNodes.flatMap(({ name, node, amounts }) => coresIn(amounts, node, processors, name === first))
        : coresIn(resources, all, processors, true),
    emulatorThreads,
    realtimeCount: realtime.size,
    nodes: onNodes.map(({ node }) => node.number),
    memoryNodes: onNodes.filter(({ hasMemory }) => hasMemory).map(({ node }) => node.number),
    devices: Object.entries(claimed).flatMap(([name, amounts]) => devicesIn(name, amounts, devices.get(name), taken)),
  };
}

type PlacedBy = 'claimed' | 'resources' | 'mappings' | 'requestSpec';

/** Without dedicated cores, PCPUs share cores like VCPUs. */
function coresIn(
  { VCPU = 0, PCPU = 0 }: Resources,
  { shared, dedicated }: CoreSets,
  { threadPolicy, emulatorThreads }: Processors,
  hasEmulator: boolean,
): readonly CoresWanted[] {
  if (dedicated.length === 0) return [{ count: VCPU + PCPU, among: shared, isDedicated: false }];
  const emulatorCount = hasEmulator && emulatorThreads === 'isolate' && PCPU > 0 ? 1 : 0;
  return [
    { count: VCPU, among: shared, isDedicated: false },
    { count: PCPU - emulatorCount, among: dedicated, isDedicated: true, threadPolicy, emulatorCount },
  ];
}

function devicesIn(
  name: string,
  { PGPU = 0, VGPU = 0, SRIOV_NET_VF = 0, ...others }: Resources,
  device: Device | undefined,
  taken: ReadonlySet<string>,
): readonly string[] {
  const count = VGPU + SRIOV_NET_VF;
  if (device?.class !== undefined && (others[device.class] ?? 0) > 0) return [name];
  if (PGPU + count === 0) return [];
  if (device === undefined) throw refusal('device_gone', `the device ${name} is not there`);
  const { address, functions } = device;
  if (PGPU > 0 || functions === undefined) return [address];
  const free = functions.filter((one) => !taken.has(one));
  if (free.length >= count) return free.slice(0, count);
  throw refusal('no_free_function', `${name} has ${free.length} virtual functions free, not ${count}`);
}

function refusal(reason: string, message: string): BerthError {
  return new BerthError('failed_precondition', reason, message);
}
