import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { Random } from '#libs/domain/random';
import type { DriverMoves, InstanceToBuild } from './driver';

/** Parameters of a fake host's moves. */
export interface FakeMoves {
  /** Duration of one full copy in a live migration. */
  readonly copyMs: number;
  /** The share that changes again during a full copy: each round copies the changes of the one before. */
  readonly dirtyRate: number;
  /** The share of moves that fail at their source. */
  readonly moveFailureRate: number;
}

export const NO_FAKE_MOVES: FakeMoves = { copyMs: 0, dirtyRate: 0, moveFailureRate: 0 };

/** The instances of a fake host. */
export interface FakeInstances {
  readonly running: Map<string, Resources>;
  readonly stopped: Map<string, Resources>;
  /** Data of the instances; it moves with them. */
  readonly data: Map<string, string>;
  build(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;
}

/** The remaining share below which the instance is stopped and the copy finished. */
const SMALL_ENOUGH = 0.02;
/** Like hypervisors: data that changes faster than it is copied never converges. */
const MAX_ROUNDS = 30;

/** Moves instances as entries of a map, with their data. */
export function fakeMoves(instances: FakeInstances, moves: FakeMoves, clock: Clock, random: Random): DriverMoves {
  const { running, stopped, data } = instances;
  return {
    async handOver(uuid, isLive, signal) {
      if (running.has(uuid)) {
        // Drawn only where it matters: otherwise each move would shift the later draws of the same seed.
        if (moves.moveFailureRate > 0 && random.next() < moves.moveFailureRate) throw failed();
        if (isLive) await copy(moves, clock, signal);
      }
      const resources = running.get(uuid);
      if (resources && running.delete(uuid)) stopped.set(uuid, resources);
      return Buffer.from(data.get(uuid) ?? '');
    },

    async arrive(instance, handover, signal) {
      await instances.build(instance, signal);
      data.set(instance.uuid, Buffer.from(handover).toString());
    },

    async resize({ uuid, resources, powerState }, fence) {
      fence?.();
      running.delete(uuid);
      stopped.delete(uuid);
      (powerState === 'shutdown' ? stopped : running).set(uuid, resources);
    },
  };
}

/** Pre-copy: round after round, until little is left, or it does not converge. */
async function copy({ copyMs, dirtyRate }: FakeMoves, clock: Clock, signal: AbortSignal): Promise<void> {
  let left = 1;
  for (let round = 0; left > SMALL_ENOUGH; round++) {
    if (round === MAX_ROUNDS) throw notConverged();
    if (copyMs > 0) await sleep(clock, Math.ceil(copyMs * left), signal);
    if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the migration was cancelled');
    left *= dirtyRate;
  }
}

function failed(): BerthError {
  return new BerthError('internal', 'fake_failure', 'this move was made to fail');
}

function notConverged(): BerthError {
  const message = `it changes faster than it is copied: not done after ${MAX_ROUNDS} rounds`;
  return new BerthError('failed_precondition', 'migration_not_converging', message);
}
