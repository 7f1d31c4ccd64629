import { parseCpuSet } from './cpu-set';
import type { ExtraSpecError, TraitSpec } from './parse';
import { THREAD_POLICIES, type ThreadPolicy } from './thread-packing';
import { truthOf } from './truth';

/** Trait of a host whose cores have several threads. */
export const HYPERTHREADING = 'HW_CPU_HYPERTHREADING';
/** Trait of a host whose driver keeps cores for an instance's emulator: Berth's own, since Nova has none. */
export const EMULATOR_THREADS = 'CUSTOM_COMPUTE_EMULATOR_THREADS';
/** Trait of a host whose driver may schedule in real time: Berth's own, since Nova has none. */
export const CPU_REALTIME = 'CUSTOM_COMPUTE_CPU_REALTIME';

/** Demands on an instance's processors beyond their number; its processors are numbered from 0. */
export interface Processors {
  /** Those that have a core for themselves. */
  readonly dedicated: ReadonlySet<number>;
  readonly realtime: ReadonlySet<number>;
  /** Undefined: as `prefer`. */
  readonly threadPolicy: ThreadPolicy | undefined;
  /** Where the threads run that emulate the machine: on shared cores, or on a dedicated one beside the instance's. */
  readonly emulatorThreads: EmulatorThreads | undefined;
}

export type EmulatorThreads = 'share' | 'isolate';

/** Wishes about hardware of a flavor and an image, by name without `hw:`. */
export interface ProcessorsAsked {
  readonly hardware: ReadonlyMap<string, string>;
  /** The extra spec, or the image property, that says it. */
  readonly keyOf: (name: string) => string;
  readonly vcpus: number;
  readonly error: ExtraSpecError;
}

/**
 * Processors by CPU policy, thread policy, emulator threads and real time, with Nova's meaning. With `mixed` the mask of
 * dedicated processors or that of real-time ones says which are dedicated.
 *
 * @throws BerthError `invalid_argument / bad_extra_spec`, `bad_image_property` or `conflicting_extra_specs`.
 */
export function processorsOf(asked: ProcessorsAsked): Processors {
  const { keyOf, error } = asked;
  const policy = oneOf(asked, 'cpu_policy', ['shared', 'dedicated', 'mixed']) ?? 'shared';
  const threadPolicy = oneOf(asked, 'cpu_thread_policy', THREAD_POLICIES);
  const emulatorThreads = oneOf(asked, 'emulator_threads_policy', ['share', 'isolate']);
  const isRealtime = isRealtimeAsked(asked);
  const needing = [
    ...(threadPolicy === undefined ? [] : ['cpu_thread_policy']),
    ...(emulatorThreads === 'isolate' ? ['emulator_threads_policy'] : []),
    ...(isRealtime ? ['cpu_realtime'] : []),
  ];
  if (policy === 'shared' && needing[0] !== undefined) {
    throw error('conflicting_extra_specs', keyOf(needing[0]), 'goes with hw:cpu_policy=dedicated or mixed only');
  }
  const realtime = isRealtime ? realtimeCpus(asked, emulatorThreads) : NONE;
  return { dedicated: dedicatedCpus(asked, policy, realtime), realtime, threadPolicy, emulatorThreads };
}

/** The traits that a host's root must have, or must not have, for the processors. */
export function traitsFor(
  { dedicated, realtime, threadPolicy, emulatorThreads }: Processors,
  keyOf: (name: string) => string,
): readonly Omit<TraitSpec, 'suffix'>[] {
  const traits: Omit<TraitSpec, 'suffix'>[] = [];
  const add = (name: string, trait: string, wish: TraitSpec['wish'] = 'required') =>
    traits.push({ key: keyOf(name), trait, wish });
  if (threadPolicy === 'require') add('cpu_thread_policy', HYPERTHREADING);
  if (threadPolicy === 'isolate') add('cpu_thread_policy', HYPERTHREADING, 'forbidden');
  if (emulatorThreads !== undefined && dedicated.size > 0) add('emulator_threads_policy', EMULATOR_THREADS);
  if (realtime.size > 0) add('cpu_realtime', CPU_REALTIME);
  return traits;
}

/** Processors without wishes: all are shared. */
export const SHARED_PROCESSORS: Processors = {
  dedicated: new Set(),
  realtime: new Set(),
  threadPolicy: undefined,
  emulatorThreads: undefined,
};
const NONE = SHARED_PROCESSORS.realtime;

/** So many numbers from `from` on. */
export function firstCpus(count: number, from = 0): ReadonlySet<number> {
  return new Set(Array.from({ length: count }, (_, n) => from + n));
}

function isRealtimeAsked({ hardware, keyOf, error }: ProcessorsAsked): boolean {
  const text = hardware.get('cpu_realtime');
  const isAsked = truthOf(text ?? 'no');
  if (isAsked === undefined) throw error('bad_extra_spec', 'hw:cpu_realtime', `must be yes or no, not '${text}'`);
  const maskKey = keyOf('cpu_realtime_mask');
  // An image may say for which of its processors it could use real time; a flavor that says so asks for it.
  if (!isAsked && hardware.has('cpu_realtime_mask') && maskKey.startsWith('hw:')) {
    throw error('conflicting_extra_specs', maskKey, 'goes with hw:cpu_realtime=yes');
  }
  return isAsked;
}

function realtimeCpus(asked: ProcessorsAsked, emulatorThreads: EmulatorThreads | undefined): ReadonlySet<number> {
  const { hardware, keyOf, vcpus, error } = asked;
  const cpus = hardware.has('cpu_realtime_mask') ? maskOf(asked, 'cpu_realtime_mask', vcpus) : firstCpus(vcpus);
  if (cpus.size < vcpus || emulatorThreads !== undefined) return cpus;
  const key = keyOf(hardware.has('cpu_realtime_mask') ? 'cpu_realtime_mask' : 'cpu_realtime');
  const message = 'leaves no ordinary processor: say hw:cpu_realtime_mask=^0, or hw:emulator_threads_policy';
  throw error('conflicting_extra_specs', key, message);
}

function dedicatedCpus(
  asked: ProcessorsAsked,
  policy: 'shared' | 'dedicated' | 'mixed',
  realtime: ReadonlySet<number>,
): ReadonlySet<number> {
  const { hardware, keyOf, vcpus, error } = asked;
  const hasMask = hardware.has('cpu_dedicated_mask');
  if (policy === 'mixed' && hasMask && realtime.size > 0) {
    const message = 'says in another way what the mask of real-time processors says, which are dedicated: take one out';
    throw error('conflicting_extra_specs', 'hw:cpu_dedicated_mask', message);
  }
  if (policy === 'mixed' ? !hasMask && realtime.size === 0 : hasMask) {
    const key = hasMask ? 'hw:cpu_dedicated_mask' : keyOf('cpu_policy');
    throw error('conflicting_extra_specs', key, 'goes with the other: hw:cpu_policy=mixed and hw:cpu_dedicated_mask');
  }
  if (policy !== 'shared' && vcpus === 0) throw error('bad_extra_spec', keyOf('cpu_policy'), 'needs VCPU to be about');
  if (policy !== 'mixed') return policy === 'dedicated' ? firstCpus(vcpus) : NONE;
  if (hasMask) return maskOf(asked, 'cpu_dedicated_mask', vcpus - 1);
  if (realtime.size < vcpus) return realtime;
  throw error('conflicting_extra_specs', keyOf('cpu_policy'), 'is for shared processors too, and all are real-time');
}

/** The processors that a mask names: one at least, and `most` at most. */
function maskOf({ hardware, keyOf, vcpus, error }: ProcessorsAsked, name: string, most: number): ReadonlySet<number> {
  const text = hardware.get(name) ?? '';
  const cpus = parseCpuSet(text, vcpus);
  if (cpus !== undefined && cpus.size > 0 && cpus.size <= most && Math.max(...cpus) < vcpus) return cpus;
  throw error('bad_extra_spec', keyOf(name), `must name some of the processors 0-${vcpus - 1}, not '${text}'`);
}

function oneOf<const T extends string>(
  { hardware, keyOf, error }: ProcessorsAsked,
  name: string,
  words: readonly T[],
): T | undefined {
  const text = hardware.get(name);
  const known = words.find((word) => word === text);
  if (known !== undefined || text === undefined) return known;
  const list = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  throw error('bad_extra_spec', keyOf(name), `must be ${list}, not '${text}'`);
}
