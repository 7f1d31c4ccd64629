import { BerthError } from '#libs/domain/errors';

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
}

/** Assigns cores to instances, least used first. */
export interface CoreAssignments {
  /**
   * Assigns each part its number of cores; none when that is no limit. A part that wants none gets all shared ones. The
   * instance's former cores are released first.
   *
   * @throws BerthError `failed_precondition / no_free_core`; the former assignment stays then.
   */
  assign(uuid: string, parts: readonly CoresWanted[]): readonly number[];
  /** Records an instance's existing cores. */
  restore(uuid: string, cores: readonly number[]): void;
  release(uuid: string): void;
}

export function createCoreAssignments({ shared, dedicated }: CoreSets): CoreAssignments {
  const assigned = new Map<string, readonly number[]>();
  const loadOf = (cpu: number, but: string) =>
    [...assigned].filter(([uuid, cores]) => uuid !== but && cores.includes(cpu)).length;
  return {
    assign(uuid, parts) {
      const wanted = parts.flatMap(({ count, among, isDedicated }) => {
        const byLoad = among
          .map((cpu) => ({ cpu, load: loadOf(cpu, uuid) }))
          .sort((a, b) => a.load - b.load || a.cpu - b.cpu);
        const cores = byLoad.slice(0, count);
        if (isDedicated && (cores.length < count || cores.some(({ load }) => load > 0))) throw noFreeCore(count);
        return cores.map(({ cpu }) => cpu);
      });
      assigned.delete(uuid);
      const cores = wanted.length > 0 || dedicated.length === 0 ? wanted : shared;
      if (cores.length >= shared.length + dedicated.length) return [];
      if (wanted.length > 0) assigned.set(uuid, wanted);
      return cores;
    },
    restore: (uuid, cores) => void assigned.set(uuid, cores),
    release: (uuid) => void assigned.delete(uuid),
  };
}

function noFreeCore(count: number): BerthError {
  const message = `the host has no ${count} of its dedicated cores free`;
  return new BerthError('failed_precondition', 'no_free_core', message);
}
