import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { Random } from '#libs/domain/random';
import type { DriverMoves, InstanceToBuild } from './driver';

/** How a fake host moves instances. */
export interface FakeMoves {
  /** How long it takes to copy all of one that is migrated live. */
  readonly copyMs: number;
  /** The share that is changed again while all of it is copied: each round copies what the one before missed. */
  readonly dirtyRate: number;
  /** The share of moves that fail at their source. */
  readonly moveFailureRate: number;
}

export const NO_FAKE_MOVES: FakeMoves = { copyMs: 0, dirtyRate: 0, moveFailureRate: 0 };

/** Where the instances of a fake host are. */
export interface FakeInstances {
  readonly running: Map<string, Resources>;
  readonly stopped: Map<string, Resources>;
  /** What an instance has written: goes where it goes. */
  readonly data: Map<string, string>;
  build(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;
}

/** A copy that is done to so much is finished while the instance stands still. */
const SMALL_ENOUGH = 0.02;
/** As hypervisors do it: what is changed faster than it is copied never gets done. */
const MAX_ROUNDS = 30;

/** Moves of instances that are entries of a map, with what they have written. */
export function fakeMoves(instances: FakeInstances, moves: FakeMoves, clock: Clock, random: Random): DriverMoves {
  const { running, stopped, data } = instances;
  return {
    async handOver(uuid, isLive, signal) {
      if (running.has(uuid)) {
        // Drawn only where it matters: else each move would change what comes after it from the same seed.
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

    async resize({ uuid, resources, powerState }) {
      running.delete(uuid);
      stopped.delete(uuid);
      (powerState === 'shutdown' ? stopped : running).set(uuid, resources);
    },
  };
}

/** Pre-copy: round after round, until what is left is little, or there is no end to it. */
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
