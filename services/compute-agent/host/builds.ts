import limitConcurrency from 'p-limit';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { continueTrace, type SpanFacts, traceparent } from '#libs/runtime/tracing';
import { type Driver, type InstanceToBuild, movesUnsupported } from '../drivers/driver';
import { isFenced } from '../drivers/fenced';
import { builtState, carriedBuild, instanceToBuild, trackedInstance } from './build-order';
import type { Exits } from './exits';
import type { HostFacts } from './host-facts';
import type { Journal } from './journal';
import type { Ledger } from './ledger';
import type { BuildOrder } from './tracked-instance';

/** The outcome of a build. `handed_back` means not built: the order is requeued. */
export type BuildEnd =
  | { readonly kind: 'active' }
  | { readonly kind: 'failed'; readonly error: BerthError }
  | { readonly kind: 'destroyed' }
  | { readonly kind: 'handed_back' };

/** The builds in progress of one host: at most `maxBuilds` at once, the rest queued, each until its deadline. */
export interface Builds {
  /** Holds the instance's resources, and builds it in its turn. */
  run(order: BuildOrder): Promise<BuildEnd>;
  /** The outcome of a queued or running build; undefined without one. */
  endOf(uuid: string): Promise<BuildEnd> | undefined;
  /** Moves the deadline of a build in progress, to later only. */
  extendDeadline(uuid: string, deadlineAtMs: number): void;
  /** Ends a build whose instance is to be destroyed; resolves when the driver is done with it. */
  cancel(uuid: string): Promise<void>;
  /** Hands back all builds: another run holds the host now. */
  handBack(): void;
  /** Takes no more builds and hands back the queued ones; at `drainEnd` the running ones too. */
  drain(): void;
}

export interface BuildsParts {
  readonly driver: Driver;
  readonly exits: Exits;
  readonly facts: Pick<HostFacts, 'providerUuid'>;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly maxBuilds: number;
  readonly drainEnd: AbortSignal;
}

interface BuildControl {
  /** Aborts with a CancelReason. */
  readonly cancelling: AbortController;
  /** By `Clock.elapsed`; 0 for none. */
  deadlineAtMs: number;
  isInLine: boolean;
  /** The order's trace: a turn comes from another build's end, in whose trace this build has no place. */
  readonly traceparent: string | undefined;
}

type CancelReason = 'destroyed' | 'deadline' | 'handed_back';

interface BuildInProgress {
  readonly control: BuildControl;
  readonly end: Promise<BuildEnd>;
}

export function createBuilds(parts: BuildsParts): Builds {
  const { exits, ledger, clock, maxBuilds, drainEnd } = parts;
  const takeTurn = limitConcurrency(maxBuilds);
  const inProgress = new Map<string, BuildInProgress>();
  let isDraining = false;

  async function buildToEnd(order: BuildOrder, control: BuildControl): Promise<BuildEnd> {
    const stopWatching = watchDeadline(clock, control);
    const end = await buildInTurn(order, control);
    stopWatching();
    inProgress.delete(order.instanceUuid);
    await settle(parts, order, end);
    return end;
  }

  /** A queued build that is cancelled ends at once, and passes its turn on when it comes. */
  async function buildInTurn(order: BuildOrder, control: BuildControl): Promise<BuildEnd> {
    const { signal } = control.cancelling;
    const built = takeTurn(() => (signal.aborted ? cancelledEnd(signal, order) : buildNow(parts, order, control)));
    const left = aborted(signal).then(() => (control.isInLine ? cancelledEnd(signal, order) : built));
    return Promise.race([built, left]);
  }

  function handBackWhere(which: (control: BuildControl) => boolean): void {
    for (const { control } of inProgress.values()) if (which(control)) cancel(control, 'handed_back');
  }

  return {
    run(order) {
      if (isDraining) return Promise.resolve({ kind: 'handed_back' });
      ledger.put(trackedInstance(order, 'building'));
      const { deadlineAtMs } = order;
      const cancelling = new AbortController();
      const control = { cancelling, deadlineAtMs, isInLine: true, traceparent: traceparent() };
      const end = exits.holdBack(order.instanceUuid, () => buildToEnd(order, control));
      inProgress.set(order.instanceUuid, { control, end });
      return end;
    },

    endOf: (uuid) => inProgress.get(uuid)?.end,

    extendDeadline(uuid, deadlineAtMs) {
      const control = inProgress.get(uuid)?.control;
      if (control) control.deadlineAtMs = Math.max(control.deadlineAtMs, deadlineAtMs);
    },

    async cancel(uuid) {
      const build = inProgress.get(uuid);
      if (!build) return;
      cancel(build.control, 'destroyed');
      await build.end;
    },

    handBack: () => handBackWhere(() => true),

    drain() {
      isDraining = true;
      handBackWhere(({ isInLine }) => isInLine);
      if (inProgress.size > 0) drainEnd.addEventListener('abort', () => handBackWhere(() => true), { once: true });
    },
  };
}

/** Keeps or forgets an instance by how its build ended. */
async function settle({ ledger, journal, driver }: BuildsParts, order: BuildOrder, end: BuildEnd): Promise<void> {
  const { instanceUuid: uuid } = order;
  const tracked = ledger.get(uuid);
  if (end.kind === 'active' && tracked) return ledger.put({ ...tracked, state: builtState(order) });
  // It holds its resources until nothing of it is left: the destroy that cancelled it knows when.
  if (end.kind === 'destroyed' && tracked) return ledger.put({ ...tracked, state: 'destroying' });
  ledger.remove(uuid);
  if (end.kind !== 'handed_back' || !driver.carriesOn) await journal.remove(uuid);
}

async function buildNow(parts: BuildsParts, order: BuildOrder, control: BuildControl): Promise<BuildEnd> {
  const { driver, journal, facts } = parts;
  const { signal } = control.cancelling;
  control.isInLine = false;
  try {
    await journal.put(driver.carriesOn ? carriedBuild(order) : trackedInstance(order, 'building'));
    const instance = instanceToBuild(order, facts.providerUuid, driver.capacity());
    await continueTrace(control.traceparent, spanOf(order), () => make(driver, instance, order, signal));
    await journalBuilt(parts, order);
    const isUnwanted = signal.aborted && signal.reason === 'destroyed';
    return isUnwanted ? { kind: 'destroyed' } : { kind: 'active' };
  } catch (thrown) {
    // Another run holds the host, and continues the build.
    if (isFenced(thrown)) return { kind: 'handed_back' };
    return signal.aborted ? cancelledEnd(signal, order) : { kind: 'failed', error: BerthError.from(thrown) };
  }
}

async function make(
  driver: Driver,
  instance: InstanceToBuild,
  { arrival }: BuildOrder,
  signal: AbortSignal,
): Promise<void> {
  if (arrival === undefined) return driver.build(instance, signal);
  if (!driver.moves) throw movesUnsupported();
  return driver.moves.arrive(instance, arrival.handover, signal);
}

/** An instance missing from the journal would run untracked after a restart, so it is not kept. */
async function journalBuilt({ driver, ledger, journal }: BuildsParts, order: BuildOrder): Promise<void> {
  const state = builtState(order);
  // A later attempt may have taken the build over.
  const tracked = ledger.get(order.instanceUuid) ?? trackedInstance(order, state);
  try {
    await journal.put({ ...tracked, state });
  } catch (thrown) {
    if (!isFenced(thrown)) await driver.destroy(order.instanceUuid);
    throw thrown;
  }
}

function watchDeadline(clock: Clock, control: BuildControl): () => void {
  if (control.deadlineAtMs === 0) return () => {};
  let stop = () => {};
  const watch = () => {
    const leftMs = control.deadlineAtMs - clock.elapsed();
    if (leftMs > 0) stop = clock.after(leftMs, watch);
    else cancel(control, 'deadline');
  };
  watch();
  return () => stop();
}

function spanOf({ instanceUuid, attempt }: BuildOrder): SpanFacts {
  const attributes = { 'berth.instance.uuid': instanceUuid, 'berth.attempt': attempt };
  return { name: 'driver build', kind: 'internal', attributes };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function cancel({ cancelling }: BuildControl, reason: CancelReason): void {
  cancelling.abort(reason);
}

function cancelledEnd(signal: AbortSignal, { instanceUuid }: BuildOrder): BuildEnd {
  const reason = signal.reason as CancelReason;
  if (reason !== 'deadline') return { kind: reason };
  const message = `the build was not done by its deadline; instance ${instanceUuid} is gone`;
  return { kind: 'failed', error: new BerthError('deadline_exceeded', 'deadline_passed', message) };
}
