import { BerthError } from '#libs/domain/errors';
import { type ThreadPolicy, threadPackings } from '#libs/domain/extra-specs/thread-packing';

/** Cores for instances: shared ones, and dedicated ones for one instance at a time. */
export interface CoreSets {
  readonly shared: readonly number[];
  readonly dedicated: readonly number[];
}

/**
 * The cores of this process, split into dedicated and shared ones.
 *
 * @throws BerthError `invalid_argument / bad_config` for a dedicated core that this process may not use.
 */
export function coreSets(allowed: readonly number[], dedicated: readonly number[]): CoreSets {
  const foreign = dedicated.filter((cpu) => !allowed.includes(cpu));
  if (foreign.length === 0) return { shared: allowed.filter((cpu) => !dedicated.includes(cpu)), dedicated };
  const message = `BERTH_AGENT_PROCESS_DEDICATED names cores that the agent may not use: ${foreign.join(', ')}`;
  throw new BerthError('invalid_argument', 'bad_config', message);
}

/** A number of cores among some; with `isDedicated` no other instance has them. */
export interface CoresWanted {
  readonly count: number;
  readonly among: readonly number[];
  readonly isDedicated: boolean;
  /** Choice of dedicated ones among the threads of a core. */
  readonly threadPolicy?: ThreadPolicy | undefined;
  /** Dedicated ones beside, for the instance's emulator. */
  readonly emulatorCount?: number;
}

/** Cores of an instance. */
export interface AssignedCores {
  /** Those that it runs on; none when that is no limit. */
  readonly cores: readonly number[];
  /** Those among them that no other instance has. */
  readonly dedicated: readonly number[];
  /** Its emulator's own ones, beside. */
  readonly emulator: readonly number[];
  /** All that it keeps from others or shares with them: for `restore`. */
  readonly held: readonly number[];
}

/** Assigns cores to instances, least used first. */
export interface CoreAssignments {
  /**
   * Assigns each part its number of cores. A part that wants none gets all shared ones. The instance's former cores are
   * released first.
   *
   * @throws BerthError `failed_precondition / no_free_core`; the former assignment stays then.
   */
  assign(uuid: string, parts: readonly CoresWanted[]): AssignedCores;
  /** Records an instance's existing cores. */
  restore(uuid: string, held: readonly number[]): void;
  release(uuid: string): void;
}

/** @param threadsOf  the threads of a thread's core, itself among them */
export function createCoreAssignments(
  { shared, dedicated }: CoreSets,
  threadsOf: (cpu: number) => readonly number[] = (cpu) => [cpu],
): CoreAssignments {
  const assigned = new Map<string, readonly number[]>();
  const loadOf = (cpu: number, but: string) =>
    [...assigned].filter(([uuid, cores]) => uuid !== but && cores.includes(cpu)).length;
  return {
    assign(uuid, parts) {
      const load = (cpu: number) => loadOf(cpu, uuid);
      const chosen = parts.map((part) =>
        part.isDedicated ? dedicatedCores(part, (cpu) => load(cpu) === 0, threadsOf) : sharedCores(part, load),
      );
      const own = chosen.flatMap((one) => one.own);
      const ofDedicated = chosen.flatMap((one) => one.dedicated);
      const cores = own.length > 0 || dedicated.length === 0 ? own : shared;
      const isAll = cores.length >= shared.length + dedicated.length;
      // All shared cores are a load that tells none from another.
      const held = isAll && ofDedicated.length === 0 ? [] : chosen.flatMap((one) => one.held);
      assigned.delete(uuid);
      if (held.length > 0) assigned.set(uuid, held);
      const emulator = chosen.flatMap((one) => one.emulator);
      return { cores: isAll ? [] : cores, dedicated: ofDedicated, emulator, held };
    },
    restore: (uuid, held) => void assigned.set(uuid, held),
    release: (uuid) => void assigned.delete(uuid),
  };
}

interface ChosenCores {
  readonly own: readonly number[];
  readonly dedicated: readonly number[];
  readonly emulator: readonly number[];
  readonly held: readonly number[];
}

function sharedCores({ count, among }: CoresWanted, load: (cpu: number) => number): ChosenCores {
  const byLoad = among.map((cpu) => ({ cpu, load: load(cpu) })).sort((a, b) => a.load - b.load || a.cpu - b.cpu);
  const own = byLoad.slice(0, count).map(({ cpu }) => cpu);
  return { own, dedicated: [], emulator: [], held: own };
}

/** An isolated instance also keeps the other threads of its cores, which nobody uses. */
function dedicatedCores(
  { count, among, threadPolicy, emulatorCount = 0 }: CoresWanted,
  isFree: (cpu: number) => boolean,
  threadsOf: (cpu: number) => readonly number[],
): ChosenCores {
  if (count + emulatorCount === 0) return { own: [], dedicated: [], emulator: [], held: [] };
  const byCore = new Map<string, number[]>();
  for (const cpu of among.filter(isFree).sort((a, b) => a - b)) {
    const core = threadsOf(cpu).join();
    byCore.set(core, [...(byCore.get(core) ?? []), cpu]);
  }
  const cores = [...byCore.values()];
  const threadsPerCore = Math.max(1, ...among.map((cpu) => threadsOf(cpu).length));
  const isIsolated = threadPolicy === 'isolate';
  for (const own of threadPackings({ cores, threadsPerCore }, threadPolicy, count)) {
    const kept = new Set(isIsolated ? own.flatMap(threadsOf) : own);
    const emulator = cores
      .flat()
      .filter((cpu) => !kept.has(cpu))
      .slice(0, emulatorCount);
    if (emulator.length < emulatorCount) continue;
    return { own, dedicated: own, emulator, held: [...kept, ...emulator] };
  }
  throw noFreeCore(count + emulatorCount, threadPolicy);
}

function noFreeCore(count: number, threadPolicy: ThreadPolicy | undefined): BerthError {
  const how = threadPolicy === undefined ? '' : `, with thread policy ${threadPolicy}`;
  const message = `the host has no ${count} of its dedicated cores free${how}`;
  return new BerthError('failed_precondition', 'no_free_core', message);
}
