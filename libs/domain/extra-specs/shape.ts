import type { Resources } from '../inventory';
import { AFFINITY } from './device-affinity';
import type { HardwareWishes } from './image-wishes';
import type { ExtraSpecError, ParsedExtraSpecs, TraitSpec } from './parse';
import { HYPERTHREADING, type Processors, processorsOf, traitsFor } from './processors';
import { type Topology, topologyOf } from './topology';

/** Processors and memory as `hw:` and the image say, with the traits that a host needs for them. */
export interface Shape extends Pick<HardwareWishes, 'keyOf'> {
  readonly topology: Topology;
  readonly processors: Processors;
  readonly traits: readonly Omit<TraitSpec, 'suffix'>[];
}

/** Amounts before they are shaped, and the wishes about them. */
interface ShapeAsked extends HardwareWishes {
  readonly amounts: Resources;
  /** The wish that needs one NUMA node at least. */
  readonly impliedBy: string | undefined;
}

/** `hw:` reshapes the flavor's VCPU and MEMORY_MB; other extra specs must not set the amounts it makes. */
export function shapeOf(
  said: ParsedExtraSpecs,
  { hardware, keyOf, amounts, impliedBy }: ShapeAsked,
  error: ExtraSpecError,
): Shape {
  const hasNodes = hardware.has('numa_nodes') || hardware.has('mem_page_size') || impliedBy !== undefined;
  const isShaping = hasNodes || [...hardware.keys()].some((name) => name !== AFFINITY);
  const shaped = isShaping ? ['VCPU', 'PCPU', ...(hasNodes ? ['MEMORY_MB'] : [])] : [];
  const other = said.amounts.find(({ resourceClass }) => shaped.includes(resourceClass));
  const names = [...hardware.keys()].map(keyOf).join(', ');
  if (other) throw error('conflicting_extra_specs', other.key, `says in another way what ${names} says: take one out`);
  if (isShaping && amounts['PCPU'] !== undefined) {
    throw error('conflicting_extra_specs', names, 'is about VCPU, of which it makes PCPU: ask for VCPU only');
  }
  const { VCPU: vcpus = 0, MEMORY_MB: memoryMb = 0 } = amounts;
  if (impliedBy !== undefined && vcpus + memoryMb === 0) {
    throw error('conflicting_extra_specs', impliedBy, 'needs VCPU or MEMORY_MB for devices to be near to');
  }
  const processors = processorsOf({ hardware, keyOf, vcpus, error });
  const threads = said.traits.find(({ trait, suffix }) => trait === HYPERTHREADING && suffix === '');
  if (threads && processors.threadPolicy !== undefined) {
    const message = `says in another way what ${keyOf('cpu_thread_policy')} says: take one out`;
    throw error('conflicting_extra_specs', threads.key, message);
  }
  const topology = topologyOf({ hardware, vcpus, memoryMb, processors, impliedBy, error });
  return { topology, processors, traits: traitsFor(processors, keyOf), keyOf };
}
