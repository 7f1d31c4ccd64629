import { type Attempt, attemptNumber, type Instance, type Moving } from '#libs/domain/instance';
import { bytesOf, type Migration, migrationUuidOf, textOf } from '#libs/domain/moves/migration';
import type { Conductor } from '../../conductor';
import { concludeAttempt, NO_BYTES, type RecordChange, writeRecord } from '../../lifecycle';
import type { Fault, Observation, ReconcileInput } from '../../observation';
import { isKeptStopped, isMoving } from '../../reconcile/moves';
import { isChanging } from '../../reconcile/power';
import type { Step } from '../../step';
import { after } from '../after';
import { noteDoubt } from '../note-doubt';
import { orderAnswer, orderDestroy, orderHandOver } from '../orders';
import { groupGoingBack } from './affinity-mates';
import { begun, order } from './arrival';
import { giveBack, holdSource, releaseMigration } from './migration-claims';

/** Steps of moves alone. */
export type MoveStep = Extract<Step, { kind: (typeof MOVE_STEPS)[number] }>;

const MOVE_STEPS = [
  'record_move',
  'record_move_claimed',
  'record_turn',
  'record_not_moved',
  'record_handing_over',
  'hand_over',
  'dispatch_arrival',
  'order_arrival',
  'record_arrived',
  'hold_source',
  'record_confirming',
  'finish_move',
  'record_source_missing',
  'record_reverting',
  'ask_source',
  'confirm_when_up',
  'record_return_awaited',
  'record_returning',
  'give_back',
  'record_returned',
] as const;

export function isMoveStep(step: Step): step is MoveStep {
  return (MOVE_STEPS as readonly string[]).includes(step.kind);
}

/** Does one step of a move and answers with what to look at next, as `perform`. */
export async function performMove(c: Conductor, look: ReconcileInput, record: Instance, step: MoveStep): Promise<Next> {
  if (step.kind === 'record_move' || step.kind === 'record_move_claimed') return recordMove(c, look, record, step);
  if (step.kind === 'finish_move') return finishMove(c, look, record, step);
  if (!isMoving(record)) return undefined;
  const write = async (change: RecordChange, observed?: Observation) =>
    after(look, await writeRecord(c, record, change), observed);
  const on: OnMoving = { c, look, moving: record, write };
  return (ON_MOVING[step.kind] as PerformMove<MovingStep>)(on, step);
}

type Next = ReconcileInput | readonly ReconcileInput[] | undefined;

/** Steps on the way. */
type MovingStep = Exclude<MoveStep, { kind: 'record_move' | 'record_move_claimed' | 'finish_move' }>;

interface OnMoving {
  readonly c: Conductor;
  readonly look: ReconcileInput;
  readonly moving: Moving;
  readonly write: (change: RecordChange, observed?: Observation) => Promise<ReconcileInput | undefined>;
}

type PerformMove<S> = (on: OnMoving, step: S) => Promise<Next>;

const ON_MOVING: { readonly [K in MovingStep['kind']]: PerformMove<Extract<MovingStep, { kind: K }>> } = {
  record_not_moved({ c, moving, write }, { fault }) {
    c.measured.moves.inc({ kind: moving.migration.kind, outcome: 'not_moved' });
    return write({ ...asBefore(moving), migration: undefined, fault, dueAtMs: undefined });
  },
  record_handing_over({ c, moving: { migration }, write }, { target }) {
    const { host, claimToken, allocationRequest } = target;
    const destination = { ...migration.destination, host, allocationRequest: textOf(allocationRequest) };
    const next: Migration = { ...migration, phase: 'handing_over', claimToken, destination };
    return write({ migration: next, claimToken, dueAtMs: handedOverByMs(c, migration) }, { kind: 'interrupted' });
  },
  record_turn({ c, moving: { migration }, write }, { confirmAfterMs }) {
    const next: Migration = { ...migration, phase: 'handing_over', confirmAfterMs };
    return write({ migration: next, dueAtMs: handedOverByMs(c, migration) }, { kind: 'interrupted' });
  },
  async hand_over({ c, moving }) {
    await orderHandOver(c, moving);
    return undefined;
  },
  dispatch_arrival: ({ c, look, moving }, { handover }) => dispatchArrival(c, look, moving, handover),
  order_arrival: ({ c, look, moving }, step) => order(c, look, moving, step),
  record_arrived: ({ c, look, moving }, { at }) => recordArrived(c, look, moving, at),
  async hold_source({ c, moving }) {
    await holdSource(c, moving);
    return undefined;
  },
  record_confirming({ c, moving, write }) {
    const { migration, attempts } = moving;
    return write(
      {
        ...asBefore(moving),
        migration: { ...migration, phase: 'confirming' },
        attempts: leftBehind(attempts, migration),
        fault: undefined,
        dueAtMs: c.clock.now() + c.config.destroyTimeoutMs,
      },
      { kind: 'interrupted' },
    );
  },
  record_source_missing: ({ moving: { migration }, write }, { missingIn }) =>
    write({ migration: { ...migration, missingIn } }),
  async record_reverting({ c, look, moving, write }, { isDoubtful, asksSource, fault }) {
    if (isDoubtful && (await isOnlyAtDestination(c, moving)))
      return write({ dueAtMs: c.clock.now() + c.config.buildTimeoutMs }, { kind: 'interrupted' });
    return asksSource && mayRunAtDestination(moving)
      ? recordAsking(c, look, moving, fault)
      : recordReverting(c, look, moving, fault);
  },
  ask_source: ({ c, look, moving }, { isOverdue }) => askSource(c, look, moving, isOverdue),
  async confirm_when_up({ c, look, moving, write }) {
    const ends = await readEnds(c, moving.migration);
    if (!ends.isDestinationDown) return { ...look, observed: { kind: 'confirm_requested' } };
    if (!ends.isSourceDown) return { ...look, observed: { kind: 'host_down' } };
    return write({ dueAtMs: c.clock.now() + c.config.schedulingTimeoutMs });
  },
  record_return_awaited: ({ c, moving, write }, { why }) =>
    write({
      state: isKeptStopped(moving) ? 'stopped' : 'unknown',
      formerState: undefined,
      attempts: concludeAttempt(moving, 'active', why, c.clock.now()),
      migration: undefined,
      fault: moving.fault ?? { reason: 'host_down', message: why },
      missingIn: undefined,
      dueAtMs: undefined,
    }),
  record_returning({ c, moving: { migration }, write }) {
    const dueAtMs = c.clock.now() + c.config.schedulingTimeoutMs;
    return write({ migration: { ...migration, phase: 'returning' }, dueAtMs }, { kind: 'interrupted' });
  },
  async give_back({ c, look, moving }) {
    const mates = await groupGoingBack(c, moving);
    return [await giveBack(c, look, moving), mates].flat().filter((one) => one !== undefined);
  },
  record_returned({ c, moving, write }, { at, attempt, isStopped, why }) {
    const fault = moving.fault ?? (why === undefined ? undefined : notReturned(why, isStopped));
    return write({
      state: isStopped ? 'stopped' : 'active',
      formerState: undefined,
      attempts: concludeAttempt(moving, 'active', why ?? '', c.clock.now()).map((one, n, all) =>
        n === all.length - 1 && attempt > 0 ? { ...one, number: attempt } : one,
      ),
      migration: undefined,
      fault,
      activeAt: at,
      missingIn: undefined,
      dueAtMs: undefined,
    });
  },
};

/** Why its source does not run it as before: stopped there, or running by the size that it was resized to. */
function notReturned(message: string, isStopped: boolean): Fault {
  return isStopped ? { reason: 'not_started', message } : { reason: 'not_resized', message };
}

/** It rests on its host again, and nothing is left at its source. */
async function finishMove(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { isConfirmed }: Extract<MoveStep, { kind: 'finish_move' }>,
): Promise<ReconcileInput | undefined> {
  if (!isConfirmed) await noteDoubt(c, look, 'destroy_owed', 'its source did not say that it is destroyed');
  await releaseMigration(c, record);
  const dueAtMs = isChanging(record.state) ? record.dueAtMs : undefined;
  return after(look, await writeRecord(c, record, { migration: undefined, dueAtMs }), undefined);
}

/** Which hosts of a move are silent; one that is gone counts as that. */
export async function readEnds(c: Conductor, { source, destination }: Migration) {
  const hosts = await c.placement.hosts([source.host, destination.host]);
  const isDown = (name: string) => hosts.find((host) => host.name === name)?.up !== true;
  return { isSourceDown: isDown(source.host), isDestinationDown: isDown(destination.host) };
}

/** Nobody could go on with it at its source, and its destination may have it: it has some times as long to say so. */
async function isOnlyAtDestination(c: Conductor, record: Moving): Promise<boolean> {
  const startedAtMs = record.attempts.at(-1)?.startedAtMs ?? 0;
  if (c.clock.now() - startedAtMs > ARRIVAL_TIMES * c.config.buildTimeoutMs) return false;
  const { isSourceDown, isDestinationDown } = await readEnds(c, record.migration);
  return isSourceDown && !isDestinationDown;
}

const ARRIVAL_TIMES = 3;

/** Terminating a moving instance tells the other side than the record's host, too. */
export async function destroyOtherSide(c: Conductor, record: Instance): Promise<void> {
  const { uuid, host, migration } = record;
  if (migration === undefined) return;
  for (const end of [migration.source, migration.destination]) {
    if (end.host === host || end.host === '' || end.attempt === 0) continue;
    const destroy = { host: end.host, attempt: end.attempt, claimToken: 0, reports: false };
    await orderDestroy(c, uuid, { kind: 'destroy', ...destroy }, record);
  }
}

/**
 * The write that terminates a moving instance gives up the source's copy: a dead source is told until the record is
 * forgotten.
 */
export function attemptsWhenTerminated({ attempts, host, migration }: Instance): readonly Attempt[] {
  return migration === undefined || migration.source.host === host ? attempts : leftBehind(attempts, migration);
}

/** The state after a move ends: a stopped instance stays stopped. */
function asBefore(record: Instance): RecordChange {
  return { state: isKeptStopped(record) ? 'stopped' : 'active', formerState: undefined };
}

/** By then its source must have handed it over; what is copied while it runs takes longer. */
function handedOverByMs({ clock, config }: Conductor, { kind }: Migration): number {
  return clock.now() + (kind === 'live_migrate' ? config.buildTimeoutMs : config.powerTimeoutMs);
}

/** With what is claimed for it already, if it is: then it waits for its turn. */
async function recordMove(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  step: Extract<MoveStep, { kind: 'record_move' | 'record_move_claimed' }>,
): Promise<ReconcileInput | undefined> {
  const { kind, requestSpec, targetHost, confirmAfterMs, plan } = step.wanted;
  const claimed = step.kind === 'record_move_claimed' ? step.target : undefined;
  const { uuid, host = '', claimToken = 0, activeAt, allocationRequest } = record;
  const migration: Migration = {
    uuid: migrationUuidOf(uuid),
    kind,
    phase: claimed ? 'claimed' : 'selecting',
    source: {
      host,
      attempt: attemptNumber(record),
      allocationRequest: textOf(allocationRequest),
      requestSpec: textOf(record.requestSpec),
      claimToken,
      activeAt,
    },
    destination: {
      host: claimed?.host ?? '',
      attempt: 0,
      allocationRequest: textOf(claimed?.allocationRequest ?? NO_BYTES),
      requestSpec: textOf(requestSpec),
    },
    targetHost,
    plan,
    claimToken: claimed?.claimToken,
    handover: '',
    confirmAfterMs,
    confirmAtMs: undefined,
  };
  const state = kind === 'live_migrate' ? 'migrating' : 'resize';
  const withinMs = claimed ? c.config.moveTurnTimeoutMs : c.config.schedulingTimeoutMs;
  const formerState = record.state === 'stopped' ? record.state : undefined;
  const change = { state, formerState, migration, fault: undefined, dueAtMs: c.clock.now() + withinMs } as const;
  const result = await writeRecord(c, record, claimed ? { ...change, claimToken: claimed.claimToken } : change);
  return after(look, result, claimed ? undefined : { kind: 'interrupted' });
}

/** From now on its place is its destination; its source keeps what it handed over. */
async function dispatchArrival(c: Conductor, look: ReconcileInput, record: Moving, handover: Uint8Array) {
  const { migration } = record;
  const { destination } = migration;
  const number = attemptNumber(record) + 1;
  const next: Migration = {
    ...migration,
    phase: 'arriving',
    handover: textOf(handover),
    destination: { ...destination, attempt: number },
  };
  const change = begun(c, record, destination.host, number);
  const result = await writeRecord(c, record, {
    ...change,
    migration: next,
    allocationRequest: bytesOf(destination.allocationRequest),
    requestSpec: bytesOf(destination.requestSpec),
  });
  return result.kind === 'written' ? order(c, look, result.record as Moving) : after(look, result, undefined);
}

/** Nobody has to confirm what was moved live: nothing of it is kept at its source but what the hypervisor left. */
async function recordArrived(
  c: Conductor,
  look: ReconcileInput,
  record: Moving,
  at: Extract<MoveStep, { kind: 'record_arrived' }>['at'],
): Promise<ReconcileInput | undefined> {
  const nowMs = c.clock.now();
  const { migration } = record;
  c.measured.moves.inc({ kind: migration.kind, outcome: 'moved' });
  const attempts = concludeAttempt(record, 'active', '', nowMs);
  const said = { activeAt: at.epoch > 0 ? at : undefined, missingIn: undefined };
  const without = { ...migration, handover: '' };
  if (migration.kind === 'live_migrate') {
    const moved = leftBehind(attempts, migration);
    const dueAtMs = nowMs + c.config.destroyTimeoutMs;
    const next: Migration = { ...without, phase: 'confirming' };
    const result = await writeRecord(c, record, {
      ...said,
      state: 'active',
      attempts: moved,
      migration: next,
      dueAtMs,
    });
    return after(look, result, { kind: 'interrupted' });
  }
  const confirmAtMs = migration.confirmAfterMs > 0 ? nowMs + migration.confirmAfterMs : undefined;
  const next: Migration = { ...without, phase: 'arrived', confirmAtMs };
  const change = { state: 'verify_resize', attempts, migration: next, dueAtMs: confirmAtMs } as const;
  return after(look, await writeRecord(c, record, { ...said, ...change }), undefined);
}

/** On one host there is one copy, which goes on there. */
function mayRunAtDestination({ migration: { source, destination } }: Moving): boolean {
  return destination.attempt > 0 && destination.host !== source.host;
}

async function recordAsking(c: Conductor, look: ReconcileInput, record: Moving, fault: Instance['fault']) {
  const result = await writeRecord(c, record, {
    state: 'revert_resize',
    migration: { ...record.migration, phase: 'leaving', awaitsSource: true },
    fault,
    dueAtMs: c.clock.now() + c.config.destroyTimeoutMs,
  });
  return after(look, result, { kind: 'interrupted' });
}

/**
 * Nothing is asked for what its destination can't have any more. What its source does not answer for stays at its destination, as
 * before it was to go back.
 */
async function askSource(
  c: Conductor,
  look: ReconcileInput,
  record: Moving,
  isOverdue: boolean,
): Promise<ReconcileInput | readonly ReconcileInput[] | undefined> {
  const { isSourceDown, isDestinationDown } = await readEnds(c, record.migration);
  if (isDestinationDown) return recordReverting(c, look, record, record.fault);
  if (isSourceDown || isOverdue) return recordStaying(c, look, record);
  await orderAnswer(c, record);
  return undefined;
}

async function recordStaying(c: Conductor, look: ReconcileInput, record: Moving): Promise<ReconcileInput | undefined> {
  const { attempts, migration } = record;
  const { source, destination, kind, confirmAtMs } = migration;
  const message = `${source.host} did not say that it still has it, so it stays on ${destination.host}: confirm it, or revert it again once ${source.host} is back`;
  const fault = { reason: 'source_silent', message };
  c.log.warn({ event: 'not_reverted', instance_uuid: record.uuid, host: record.host, ...fault }, 'a move stays');
  const hasArrived = attempts.at(-1)?.outcome === 'active';
  const next = { ...migration, awaitsSource: undefined };
  if (hasArrived) {
    const change = { state: 'verify_resize', migration: { ...next, phase: 'arrived' }, dueAtMs: confirmAtMs } as const;
    return after(look, await writeRecord(c, record, { ...change, fault }), undefined);
  }
  const state = kind === 'live_migrate' ? 'migrating' : 'resize';
  const dueAtMs = c.clock.now() + c.config.buildTimeoutMs;
  const change = { state, migration: { ...next, phase: 'arriving' }, dueAtMs } as const;
  return after(look, await writeRecord(c, record, { ...change, fault }), { kind: 'interrupted' });
}

/**
 * The attempt at its destination, if there was one, is given up in the same write: what it built must not stay. Of its affinity group, what
 * has yet to leave is looked at with that.
 */
async function recordReverting(
  c: Conductor,
  look: ReconcileInput,
  record: Moving,
  fault: Instance['fault'],
): Promise<readonly ReconcileInput[]> {
  const { migration } = record;
  const { source, destination } = migration;
  const hasLeft = destination.attempt > 0;
  // On one host there is one copy: it goes on there with what it held before, and must not be destroyed.
  const isOneCopy = destination.host === source.host;
  const phase = hasLeft && !isOneCopy ? 'leaving' : 'returning';
  c.measured.moves.inc({ kind: migration.kind, outcome: 'reverted' });
  if (fault) {
    const fields = { event: 'move_failed', instance_uuid: record.uuid, host: record.host, ...fault };
    c.log.warn(fields, 'instance not moved, reverting');
  }
  const nowMs = c.clock.now();
  const result = await writeRecord(c, record, {
    state: 'revert_resize',
    migration: { ...migration, phase, handover: '', awaitsSource: undefined },
    attempts: hasLeft ? wentBack(record.attempts, migration, isOneCopy) : record.attempts,
    fault,
    dueAtMs: nowMs + (phase === 'leaving' ? c.config.destroyTimeoutMs : c.config.schedulingTimeoutMs),
  });
  const next = after(look, result, { kind: 'interrupted' });
  const mates = result.kind === 'written' ? await groupGoingBack(c, record) : [];
  return next ? [next, ...mates] : mates;
}

/**
 * Gives up the source's copy, unless that is what runs: resized in place. So are its earlier attempts there: an older disk of
 * that host knows it by one of those. Each says by what kind of move.
 */
function leftBehind(attempts: readonly Attempt[], { kind, source, destination }: Migration): readonly Attempt[] {
  if (source.host === destination.host) return attempts;
  const isLeft = ({ host, number, outcome }: Attempt) =>
    number === source.attempt || (host === source.host && number < source.attempt && outcome === 'active');
  return attempts.map((one) => (isLeft(one) ? { ...one, outcome: 'moved', reason: kind } : one));
}

/** The attempt at the destination is given up, unless it was resized in place: then the one copy goes on by that attempt. */
function wentBack(
  attempts: readonly Attempt[],
  { kind, destination }: Migration,
  isOneCopy: boolean,
): readonly Attempt[] {
  return attempts.map((one) => {
    if (one.number !== destination.attempt) return one;
    return isOneCopy ? { ...one, outcome: 'active' } : { ...one, outcome: 'reverted', reason: one.reason || kind };
  });
}
