import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { classOfDevice } from '#libs/domain/devices/device';
import { type Inventories, inventory, MAX_AMOUNT } from '#libs/domain/inventory';
import type { HostCapacity, NestedCapacity } from '../driver';
import type { CoreSets } from './cores';
import { parseCpuList } from './proc';

/** The configuration of a host that is this machine. */
export interface MachineHost {
  /** The kernel's view of the machine; default `/sys`. */
  readonly sys?: string;
  /** Undefined parts come from the machine. */
  readonly capacity: Omit<HostCapacity, 'inventories' | 'nested'> & {
    readonly inventories: Inventories | undefined;
    readonly nested: readonly NestedCapacity[] | undefined;
  };
}

/** The kernel's view of this machine. */
export const SYS = '/sys';

/** The NUMA nodes of a machine and its assignable PCI devices, as /sys shows them now. */
export interface MachineTree {
  readonly nested: readonly NestedCapacity[];
  /** By provider name. */
  readonly nodes: ReadonlyMap<string, NumaNode>;
  readonly devices: ReadonlyMap<string, Device>;
}

/** A NUMA node, with its cores for instances. */
export interface NumaNode extends CoreSets {
  readonly number: number;
}

export interface Device {
  /** PCI address, or an operator's name for the device. */
  readonly address: string;
  /** Addresses of its virtual functions; undefined when unknown. */
  readonly functions: readonly string[] | undefined;
  /** Class of which who has it takes, of a device with attributes. */
  readonly class?: string | undefined;
}

/**
 * Reads a machine's tree:
 *
 * - `numa<N>`: its cores as VCPU, or PCPU where they are dedicated, its memory as MEMORY_MB
 * - a GPU (PCI class 03), by its address, below its node: PGPU, or, where it has virtual functions, VGPU for each
 * - a network card (class 02) likewise: SRIOV_NET_VF for each virtual function, and its speed as
 *   NET_BW_*_KILOBIT_PER_SEC
 *
 * The virtual functions that the device could have (`sriov_totalvfs`) beyond the present ones (`sriov_numvfs`) are
 * reserved.
 *
 * @param sys   `/sys`
 * @param cores  cores for instances
 */
export async function machineTree(sys: string, cores: CoreSets): Promise<MachineTree> {
  const nodes = await numaNodes(sys, cores);
  const devices = await pciDevices(sys, new Set(nodes.map(({ capacity }) => capacity.name)));
  return {
    nested: [...nodes, ...devices].map(({ capacity }) => capacity),
    nodes: new Map(nodes.map(({ capacity, node }) => [capacity.name, node])),
    devices: new Map(devices.map(({ capacity, device }) => [capacity.name, device])),
  };
}

/** The threads of each core's core, itself among them, as /sys shows them; it alone where /sys says nothing. */
export async function coreThreads(
  sys: string,
  cores: readonly number[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  const entries = cores.map(async (cpu) => {
    const list = await textOf(join(sys, `devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`));
    return [cpu, list === '' ? [cpu] : parseCpuList(list)] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Adds providers under operators' own names; devices are passed by these names. */
export function withNamed(tree: MachineTree, nested: readonly NestedCapacity[] = []): MachineTree {
  const named = nested.map(({ name, device }) => {
    return [name, { address: name, functions: undefined, class: device && classOfDevice(device) }] as const;
  });
  return { ...tree, devices: new Map<string, Device>([...named, ...tree.devices]) };
}

/** The capacity of a host on this machine: its tree, unless nested providers are configured. */
export function capacityWith<T extends { readonly nested: readonly NestedCapacity[] | undefined }>(
  tree: MachineTree,
  capacity: T,
  inventories: Inventories,
): T & Pick<HostCapacity, 'inventories' | 'nested'> {
  const { nested } = capacity;
  if (nested !== undefined) return { ...capacity, inventories, nested };
  return { ...capacity, inventories: withoutNodes(inventories, tree), nested: tree.nested };
}

/** A host's own inventories, without those of its NUMA nodes. */
function withoutNodes(inventories: Inventories, { nodes }: MachineTree): Inventories {
  const { VCPU: _vcpu, PCPU: _pcpu, MEMORY_MB: _memoryMb, ...rest } = inventories;
  return nodes.size > 0 ? rest : inventories;
}

async function numaNodes(sys: string, cores: CoreSets) {
  const folder = join(sys, 'devices/system/node');
  const names = (await entriesOf(folder)).filter((name) => /^node\d+$/.test(name));
  const numbers = names.map((name) => Number(name.slice('node'.length))).sort((a, b) => a - b);
  return Promise.all(
    numbers.map(async (number) => {
      const of = (file: string) => textOf(join(folder, `node${number}`, file));
      const all = new Set(parseCpuList(await of('cpulist')));
      const [shared, dedicated] = [cores.shared, cores.dedicated].map((set) => set.filter((cpu) => all.has(cpu)));
      const node: NumaNode = { number, shared: shared ?? [], dedicated: dedicated ?? [] };
      const memoryMb = Math.floor(Number(/MemTotal:\s*(\d+) kB/.exec(await of('meminfo'))?.[1] ?? 0) / 1_024);
      const inventories = withoutEmpty({
        VCPU: node.shared.length,
        PCPU: node.dedicated.length,
        MEMORY_MB: memoryMb,
      });
      return { node, capacity: { name: `numa${number}`, parent: '', inventories, traits: ['HW_NUMA_ROOT'] } };
    }),
  );
}

async function pciDevices(sys: string, nodeNames: ReadonlySet<string>) {
  const folder = join(sys, 'bus/pci/devices');
  const all = (await entriesOf(folder)).sort();
  const found = await Promise.all(all.map((address) => pciDevice(join(folder, address), address, nodeNames)));
  return found.filter((one) => one !== undefined);
}

async function pciDevice(folder: string, address: string, nodeNames: ReadonlySet<string>) {
  const files = await entriesOf(folder);
  // A virtual function belongs to its device.
  if (files.includes('physfn')) return undefined;
  const kind = (await textOf(join(folder, 'class'))).slice(2, 4);
  const links = files.filter((name) => /^virtfn\d+$/.test(name)).sort((a, b) => numberIn(a) - numberIn(b));
  const functions = await Promise.all(links.map(async (name) => basename(await readlink(join(folder, name)))));
  const total = Number(await textOf(join(folder, 'sriov_totalvfs')));
  const inventories = await inventoriesOf(kind, folder, Math.max(total, functions.length), functions.length);
  if (Object.keys(inventories).length === 0) return undefined;
  const node = `numa${await textOf(join(folder, 'numa_node'))}`;
  const parent = nodeNames.has(node) ? node : '';
  return { device: { address, functions }, capacity: { name: address, parent, inventories, traits: [] } };
}

const GPU = '03';
const NETWORK = '02';

async function inventoriesOf(kind: string, folder: string, total: number, there: number): Promise<Inventories> {
  const functions = inventory(total, { reserved: total - there });
  if (kind === GPU) return there > 0 ? { VGPU: functions } : { PGPU: inventory(1) };
  if (kind !== NETWORK) return {};
  const kilobits = (await speedMbit(folder)) * 1_000;
  const bandwidth = { NET_BW_EGR_KILOBIT_PER_SEC: kilobits, NET_BW_IGR_KILOBIT_PER_SEC: kilobits };
  return { ...(there > 0 ? { SRIOV_NET_VF: functions } : {}), ...withoutEmpty(bandwidth) };
}

/** Speed of the card's first interface; 0 without one that is up. */
async function speedMbit(folder: string): Promise<number> {
  const [first] = (await entriesOf(join(folder, 'net'))).sort();
  return first === undefined ? 0 : Math.max(0, Number(await textOf(join(folder, 'net', first, 'speed'))));
}

function withoutEmpty(amounts: Readonly<Record<string, number>>): Inventories {
  const some = Object.entries(amounts).filter(([, total]) => total > 0);
  return Object.fromEntries(some.map(([name, total]) => [name, inventory(Math.min(total, MAX_AMOUNT))]));
}

function numberIn(name: string): number {
  return Number(name.replace(/\D/g, ''));
}

/** Empty without the folder: not every machine has all of them. */
async function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** '' when the file is missing, or the kernel does not say. */
async function textOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
