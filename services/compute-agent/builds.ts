import type { BuildInstance } from '#libs/contracts/messages';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Driver } from './drivers/driver';
import { resourcesOf } from './instance-claim';
import type { Journal } from './journal';
import type { Carried, Ledger } from './ledger';
import { createSlots } from './slots';

/** How a build ended. What is handed back was not built, and is for whoever gets its message next. */
export type BuildEnd =
  | { readonly kind: 'active' }
  | { readonly kind: 'failed'; readonly error: BerthError }
  | { readonly kind: 'destroyed' }
  | { readonly kind: 'handed_back' };

/** The builds of one host: at most `maxBuilds` at once, the rest in line, each until its deadline. */
export interface Builds {
  /** Holds the instance's resources and builds it. Never rejects. */
  run(build: BuildInstance): Promise<BuildEnd>;
  /** A build in line or going on. */
  underWay(uuid: string): Promise<BuildEnd> | undefined;
  /** Gives a build under way more time. */
  extend(uuid: string, deadlineAtMs: number): void;
  /** Ends a build because its instance is to be destroyed; resolves when the driver has let go of it. */
  cancel(uuid: string): Promise<void>;
  /** Takes no more builds and hands back those in line; those going on, too, when patience aborts. */
  drain(patience: AbortSignal): void;
}

type CancelReason = 'destroyed' | 'deadline' | 'handed_back';

interface Flight {
  readonly cancelling: AbortController;
  deadlineAtMs: number;
  isInLine: boolean;
  end: Promise<BuildEnd>;
}

export function createBuilds(parts: {
  readonly driver: Driver;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly maxBuilds: number;
}): Builds {
  const { driver, ledger, journal, clock } = parts;
  const slots = createSlots(parts.maxBuilds);
  const flights = new Map<string, Flight>();
  let isDraining = false;

  async function fly(build: BuildInstance, flight: Flight): Promise<BuildEnd> {
    const stopWatching = watchDeadline(flight);
    const end = await inSlot(build, flight);
    stopWatching();
    flights.delete(build.instanceUuid);
    const carried = ledger.get(build.instanceUuid);
    if (end.kind === 'active' && carried) ledger.put({ ...carried, state: 'running' });
    // What is destroyed holds its resources until nothing of it is left; whoever destroys it says when.
    else if (end.kind === 'destroyed' && carried) ledger.put({ ...carried, state: 'destroying' });
    else {
      ledger.remove(build.instanceUuid);
      await journal.remove(build.instanceUuid);
    }
    return end;
  }

  async function inSlot(build: BuildInstance, flight: Flight): Promise<BuildEnd> {
    const { signal } = flight.cancelling;
    const release = await slots.take(signal);
    if (!release) return cancelled(signal, build);
    flight.isInLine = false;
    try {
      await journal.put(carriedAs(build, 'building'));
      await driver.build(instanceOf(build), signal);
      await noteRunning(build);
      const isUnwanted = signal.aborted && signal.reason === 'destroyed';
      return isUnwanted ? { kind: 'destroyed' } : { kind: 'active' };
    } catch (thrown) {
      return signal.aborted ? cancelled(signal, build) : { kind: 'failed', error: BerthError.from(thrown) };
    } finally {
      release();
    }
  }

  /** An instance that could not be noted would be nobody's after a restart: rather none. */
  async function noteRunning(build: BuildInstance): Promise<void> {
    const carried = ledger.get(build.instanceUuid) ?? carriedAs(build, 'running');
    try {
      await journal.put({ ...carried, state: 'running' });
    } catch (thrown) {
      await driver.destroy(build.instanceUuid);
      throw thrown;
    }
  }

  function watchDeadline(flight: Flight): () => void {
    if (flight.deadlineAtMs === 0) return () => {};
    let stop = () => {};
    const watch = () => {
      const leftMs = flight.deadlineAtMs - clock.now();
      if (leftMs > 0) stop = clock.after(leftMs, watch);
      else abort(flight, 'deadline');
    };
    watch();
    return () => stop();
  }

  return {
    run(build) {
      if (isDraining) return Promise.resolve({ kind: 'handed_back' });
      ledger.put(carriedAs(build, 'building'));
      const flight: Flight = {
        cancelling: new AbortController(),
        deadlineAtMs: build.deadlineAtMs,
        isInLine: true,
        end: Promise.resolve({ kind: 'handed_back' }),
      };
      flights.set(build.instanceUuid, flight);
      flight.end = fly(build, flight);
      return flight.end;
    },

    underWay: (uuid) => flights.get(uuid)?.end,

    extend(uuid, deadlineAtMs) {
      const flight = flights.get(uuid);
      if (flight) flight.deadlineAtMs = Math.max(flight.deadlineAtMs, deadlineAtMs);
    },

    async cancel(uuid) {
      const flight = flights.get(uuid);
      if (!flight) return;
      abort(flight, 'destroyed');
      await flight.end;
    },

    drain(patience) {
      isDraining = true;
      for (const flight of flights.values()) if (flight.isInLine) abort(flight, 'handed_back');
      const giveUp = () => flights.forEach((flight) => abort(flight, 'handed_back'));
      if (patience.aborted) giveUp();
      else patience.addEventListener('abort', giveUp, { once: true });
    },
  };
}

/** An instance as the agent carries it for a build. */
export function carriedAs(build: BuildInstance, state: Carried['state']): Carried {
  const { instanceUuid: uuid, requestId, name, projectId, userId, requestSpec, attempt, claimRevision } = build;
  const groupId = requestSpec.group?.id ?? '';
  const resources = resourcesOf(requestSpec);
  return { uuid, requestId, name, projectId, userId, groupId, resources, attempt, claimRevision, state };
}

function instanceOf(build: BuildInstance) {
  const { instanceUuid: uuid, name, projectId, requestSpec } = build;
  return { uuid, name, projectId, requestSpec, resources: resourcesOf(requestSpec) };
}

function abort(flight: Flight, reason: CancelReason): void {
  flight.cancelling.abort(reason);
}

function cancelled(signal: AbortSignal, build: BuildInstance): BuildEnd {
  const reason = signal.reason as CancelReason;
  if (reason !== 'deadline') return { kind: reason };
  const message = `the build was not done by its deadline; instance ${build.instanceUuid} is gone`;
  return { kind: 'failed', error: new BerthError('deadline_exceeded', 'deadline_passed', message) };
}
