import type { Resources } from '../inventory';
import type { RequestGroup } from '../request-spec';
import { parseCpuSet } from './cpu-set';
import type { ExtraSpecError } from './parse';
import { firstCpus, type Processors } from './processors';

/** Processors and memory of an instance after the `hw:` extra specs. */
export interface Topology {
  /** Replaces VCPU and MEMORY_MB. */
  readonly resources: Resources;
  readonly groups: readonly TopologyGroup[];
  readonly sameSubtrees: readonly (readonly string[])[];
}

/** The processors and memory of a NUMA node, or the memory of a page size. */
export interface TopologyGroup extends Pick<RequestGroup, 'suffix' | 'resources' | 'requiredTraits'> {
  /** The extra spec that adds the group. */
  readonly key: string;
}

/** The amounts to reshape and the extra specs that say how. */
export interface TopologyAsked {
  /** Extra specs, keyed by name without `hw:`. */
  readonly hardware: ReadonlyMap<string, string>;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly processors: Processors;
  /** The extra spec that needs one NUMA node at least. */
  readonly impliedBy?: string | undefined;
  readonly error: ExtraSpecError;
}

/** Trait of a provider that is a NUMA node. */
export const NUMA_ROOT = 'HW_NUMA_ROOT';
const MAX_NUMA_NODES = 16;

/**
 * The processors and memory of an instance by CPU policy, NUMA nodes and page size, with Nova's meaning:
 *
 * - dedicated processors take PCPU instead of VCPU, and an isolated emulator one more, beside the first NUMA node's;
 * - `numa_nodes` takes each node's share from one provider with the trait HW_NUMA_ROOT: equal shares, or those of
 *   `numa_cpus.N` (processors, `0-3`) and `numa_mem.N` (MiB), given for all nodes;
 * - `mem_page_size` takes memory from a provider at or below the NUMA node with the trait
 *   `CUSTOM_MEMORY_PAGE_SIZE_<LARGE | SMALL | KiB>`; it makes one NUMA node when none is asked for, as does `impliedBy`.
 *
 * @throws BerthError `invalid_argument / bad_extra_spec` or `conflicting_extra_specs`.
 */
export function topologyOf(asked: TopologyAsked): Topology {
  const { vcpus, memoryMb, processors } = asked;
  const { dedicated } = processors;
  const emulator = processors.emulatorThreads === 'isolate' ? 1 : 0;
  const pageSize = pageSizeTrait(asked);
  const nodeCount = nodeCountOf(asked, pageSize === undefined && asked.impliedBy === undefined ? 0 : 1);
  if (nodeCount === 0) {
    return {
      resources: { ...amountsOf(firstCpus(vcpus), dedicated, emulator), ...memory(memoryMb) },
      groups: [],
      sameSubtrees: [],
    };
  }
  const mbs = memoryOfNodes(asked, nodeCount);
  const numa = cpusOfNodes(asked, nodeCount).map((cpus, i) => ({
    key: asked.hardware.has('numa_nodes') ? 'hw:numa_nodes' : pageSize ? 'hw:mem_page_size' : (asked.impliedBy ?? ''),
    suffix: `_numa${i}`,
    resources: {
      ...amountsOf(cpus, dedicated, i === 0 ? emulator : 0),
      ...(pageSize === undefined ? memory(mbs[i] as number) : {}),
    },
    requiredTraits: [[NUMA_ROOT]],
  }));
  if (pageSize === undefined) return { resources: {}, groups: numa, sameSubtrees: [] };
  const pages = mbs.map((mb, i) => ({
    key: 'hw:mem_page_size',
    suffix: `_mem${i}`,
    resources: memory(mb),
    requiredTraits: [[pageSize]],
  }));
  const sameSubtrees = mbs.map((_, i) => [`_numa${i}`, `_mem${i}`]);
  return { resources: {}, groups: [...numa, ...pages], sameSubtrees };
}

function amountsOf(cpus: ReadonlySet<number>, dedicated: ReadonlySet<number>, emulator: number): Resources {
  const own = [...cpus].filter((cpu) => dedicated.has(cpu)).length;
  const [pcpus, shared] = [own + emulator, cpus.size - own];
  return { ...(pcpus > 0 ? { PCPU: pcpus } : {}), ...(shared > 0 ? { VCPU: shared } : {}) };
}

function memory(mb: number): Resources {
  return mb > 0 ? { MEMORY_MB: mb } : {};
}

/** KiB per unit. */
const UNITS: Readonly<Record<string, number>> = { KB: 1, MB: 1_024, GB: 1_048_576 };

function pageSizeTrait({ hardware, memoryMb, error }: TopologyAsked): string | undefined {
  const text = hardware.get('mem_page_size');
  if (text === undefined || text === 'any') return undefined;
  if (memoryMb === 0) throw error('bad_extra_spec', 'hw:mem_page_size', 'needs MEMORY_MB to be about');
  if (text === 'small' || text === 'large') return `CUSTOM_MEMORY_PAGE_SIZE_${text.toUpperCase()}`;
  const [, digits, unit = 'KB'] = /^(\d{1,8})(KB|MB|GB)?$/.exec(text) ?? [];
  const kib = Number(digits) * (UNITS[unit] ?? 0);
  if (kib > 0) return `CUSTOM_MEMORY_PAGE_SIZE_${kib}`;
  throw error('bad_extra_spec', 'hw:mem_page_size', `must be small, large, any, KiB or such as 2MB, not '${text}'`);
}

function nodeCountOf({ hardware, vcpus, error }: TopologyAsked, implied: number): number {
  const text = hardware.get('numa_nodes');
  const said = Number(text ?? 0);
  if (text !== undefined && !(/^\d{1,2}$/.test(text) && said >= 1 && said <= MAX_NUMA_NODES)) {
    throw error('bad_extra_spec', 'hw:numa_nodes', `must be from 1 to ${MAX_NUMA_NODES}, not '${text}'`);
  }
  if (vcpus < said) throw error('bad_extra_spec', 'hw:numa_nodes', `is more than the ${vcpus} VCPU`);
  for (const name of hardware.keys()) {
    const [, node] = /^numa_(?:cpus|mem)\.(\d+)$/.exec(name) ?? [];
    if (node !== undefined && Number(node) >= said) {
      throw error('conflicting_extra_specs', `hw:${name}`, `is about a node that hw:numa_nodes=${said} does not make`);
    }
  }
  return text === undefined ? implied : said;
}

function cpusOfNodes(asked: TopologyAsked, nodeCount: number): readonly ReadonlySet<number>[] {
  const { vcpus, error } = asked;
  const said = saidOfNodes(asked, 'numa_cpus', nodeCount, vcpus);
  if (said === undefined) {
    const share = vcpus / nodeCount;
    return Array.from({ length: nodeCount }, (_, i) => firstCpus(share, i * share));
  }
  const sets = said.map((text, i) => {
    const cpus = parseCpuSet(text, vcpus);
    if (cpus !== undefined) return cpus;
    throw error('bad_extra_spec', `hw:numa_cpus.${i}`, `must name processors, such as 0-3, not '${text}'`);
  });
  const all = sets.flatMap((set) => [...set]).sort((a, b) => a - b);
  if (all.length === vcpus && all.every((cpu, i) => cpu === i)) return sets;
  const message = `and those of the other nodes must share out the processors 0-${vcpus - 1}`;
  throw error('conflicting_extra_specs', 'hw:numa_cpus.0', message);
}

function memoryOfNodes(asked: TopologyAsked, nodeCount: number): readonly number[] {
  const { memoryMb, error } = asked;
  const said = saidOfNodes(asked, 'numa_mem', nodeCount, memoryMb);
  if (said === undefined) return Array.from({ length: nodeCount }, () => memoryMb / nodeCount);
  const mbs = said.map((text) => (/^\d{1,10}$/.test(text) ? Number(text) : 0));
  if (mbs.every((mb) => mb > 0) && mbs.reduce((sum, mb) => sum + mb, 0) === memoryMb) return mbs;
  const message = `and those of the other nodes must share out the ${memoryMb} MEMORY_MB`;
  throw error('conflicting_extra_specs', 'hw:numa_mem.0', message);
}

/** The amount given for each node; undefined when none is given and the amount divides evenly. */
function saidOfNodes(
  { hardware, error }: TopologyAsked,
  name: 'numa_cpus' | 'numa_mem',
  nodeCount: number,
  amount: number,
): readonly string[] | undefined {
  const said = Array.from({ length: nodeCount }, (_, i) => hardware.get(`${name}.${i}`));
  const missing = said.indexOf(undefined);
  if (missing === -1) return said as string[];
  if (said.some((text) => text !== undefined)) {
    throw error('conflicting_extra_specs', `hw:${name}.${missing}`, 'is missing: say it of all nodes or of none');
  }
  if (amount % nodeCount === 0) return undefined;
  const message = `does not divide ${amount} equally; say hw:${name}.N of each node`;
  throw error('conflicting_extra_specs', 'hw:numa_nodes', message);
}
