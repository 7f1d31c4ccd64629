import { alternatesCodec } from '#libs/contracts/selection';
import type { HostPosition, MissedReport } from '#libs/domain/host-position';
import { attemptNumber, BUILT_STATES, type Displaced, type Instance, isAttemptOpen } from '#libs/domain/instance';
import { blameHosts } from '../alternates/blame-hosts';
import type { Conductor } from '../conductor';
import {
  attemptOn,
  concludeAttempt,
  endByTimeLimit,
  evacuated,
  MAX_ATTEMPTS_KEPT,
  NO_BYTES,
  type RecordChange,
  writeRecord,
} from '../lifecycle';
import type { ClaimedHost, Fault, ReconcileInput } from '../observation';
import { isKeptStopped } from '../reconcile/moves';
import { isChanging } from '../reconcile/power';
import type { Finding, Step } from '../step';
import { adopt } from './adopt';
import { after } from './after';
import { type Claimant, claimAgain, readClaim, release, releaseElsewhere } from './claims';
import { fenceOf, isFenced } from './fence-host';
import { orderSince } from './moves/arrival';
import { releaseMigration } from './moves/migration-claims';
import { isMoveStep, type MoveStep, performMove } from './moves/moves';
import { claimNextHost } from './next-alternate';
import { noteDoubt } from './note-doubt';
import { type OrderDetails, orderBuild, orderDestroy, orderPowerState, orderReturn } from './orders';
import { recordPending, recordPreempting, recordRequeued, recordRestoring } from './queueing';
import { closeRecord, recordDeleting, recordError, recordGivenUp, recordUndoing } from './record-end';
import { recordShelved } from './record-shelved';

/** Steps that are done for one instance; the others are done for all of a request (`reconcile-loop.ts`). */
export type OwnStep = Exclude<Step, { kind: 'select_destinations' | 'settle_gang' }>;

/**
 * Does one step and answers with what to look at next; undefined when this conductor has nothing more to do. A step that
 * finds the record changed looks at it as it is now, with the same observation. What goes back may take others of its group with it.
 */
export async function perform(
  c: Conductor,
  look: ReconcileInput,
  step: OwnStep,
): Promise<ReconcileInput | readonly ReconcileInput[] | undefined> {
  if (step.kind !== 'doubt' && 'finding' in step && step.finding) noteRepair(c, look, step.finding);
  const { record } = look;
  switch (step.kind) {
    case 'none':
      if (step.because === 'late report') noteLateReport(c, look);
      return undefined;
    case 'wait':
      return undefined;
    case 'read_claim':
      return { ...look, holds: await readClaim(c, look.uuid, record) };
    case 'release':
      await release(c, claimantOf(look), step.claimToken);
      return undefined;
    case 'destroy':
      return destroy(c, look, step);
    case 'doubt':
      await noteDoubt(c, look, step.finding);
      return undefined;
    case 'adopt':
      return adopt(c, look, step.at);
    case 'fence_host':
      // A silent host that is not dead yet is tried again when due.
      return (await isFenced(c, step.host)) ? { ...look, observed: { kind: 'host_fenced' } } : undefined;
    default:
      if (record === undefined) return undefined;
      return performOn(c, look, withCall(record, look), step);
  }
}

function performOn(c: Conductor, look: ReconcileInput, record: Instance, step: MoveStep | RecordStep) {
  return isMoveStep(step) ? performMove(c, look, record, step) : performOnRecord(c, look, record, step);
}

/** The first write of a wish puts its call on record with it. */
function withCall(record: Instance, { callId }: ReconcileInput): Instance {
  return callId === undefined ? record : { ...record, lastCall: callId || undefined };
}

/** Steps on a record that is there. */
type RecordStep = Exclude<
  OwnStep,
  MoveStep | { kind: 'none' | 'wait' | 'read_claim' | 'release' | 'destroy' | 'doubt' | 'adopt' | 'fence_host' }
>;

type Perform<S> = (
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  step: S,
) => Promise<ReconcileInput | undefined>;

function performOnRecord(c: Conductor, look: ReconcileInput, record: Instance, step: RecordStep) {
  return (ON_RECORD[step.kind] as Perform<RecordStep>)(c, look, record, step);
}

const ON_RECORD: { readonly [K in RecordStep['kind']]: Perform<Extract<RecordStep, { kind: K }>> } = {
  dispatch_build: (c, look, record, { target }) => dispatchBuild(c, look, record, target),
  order_again: (c, look, record) => order(c, look, record),
  conclude_attempt: conclude,
  claim_next_host: async (c, look, record) => ({ ...look, observed: await claimNextHost(c, record) }),
  record_active: (c, look, record, { at }) => recordBuilt(c, look, record, { state: 'active', dueAtMs: undefined, at }),
  record_unknown: async (c, look, record) => after(look, await writeRecord(c, record, { state: 'unknown' }), undefined),
  async record_power_change(c, look, record, { state }) {
    const dueAtMs = c.clock.now() + c.config.powerTimeoutMs;
    return after(look, await writeRecord(c, record, { state, dueAtMs }), { kind: 'interrupted' });
  },
  async set_power_state(c, _look, record, step) {
    await orderPowerState(c, record, step);
    return undefined;
  },
  async order_return(c, _look, record) {
    await orderReturn(c, record);
    return undefined;
  },
  order_since: (c, look, record, { epoch }) => orderSince(c, look, record, epoch),
  async record_stopped(c, look, record, { at: activeAt, fault }) {
    const settled = { fault, missingIn: undefined, dueAtMs: undefined, formerState: undefined };
    const change = { state: 'stopped', activeAt, ...settled } as const;
    return after(look, await writeRecord(c, record, change), undefined);
  },
  record_built_to_stop(c, look, record, { at }) {
    const dueAtMs = c.clock.now() + c.config.powerTimeoutMs;
    return recordBuilt(c, look, record, { state: 'stopping', dueAtMs, at });
  },
  record_rebuilding: recordRebuilding,
  record_not_rebuilt: async (c, look, record, { fault }) =>
    after(look, await writeRecord(c, record, asBefore(c, record, fault)), undefined),
  async record_shelving(c, look, record) {
    const dueAtMs = c.clock.now() + c.config.destroyTimeoutMs;
    const result = await writeRecord(c, record, { state: 'shelving', dueAtMs, fault: undefined });
    return after(look, result, { kind: 'interrupted' });
  },
  record_shelved: (c, look, record, step) => recordShelved(c, look, record, step),
  async record_unshelving(c, look, record) {
    const dueAtMs = c.clock.now() + c.config.schedulingTimeoutMs;
    const change = { state: 'unshelving', formerState: 'shelved_offloaded', dueAtMs, fault: undefined } as const;
    return after(look, await writeRecord(c, record, change), { kind: 'interrupted' });
  },
  record_position: async (c, look, record, { at: activeAt }) =>
    after(look, await writeRecord(c, record, { activeAt }), { kind: 'interrupted' }),
  record_missing: (c, look, record, { missingIn }) => recordMissing(c, look, record, missingIn),
  record_error: (c, look, record, step) => recordError(c, look, record, step),
  record_deleting: (c, look, record, { fault }) => recordDeleting(c, look, record, fault),
  record_undoing: (c, look, record, { fault }) => recordUndoing(c, look, record, fault),
  record_given_up: (c, look, record, { fault }) => recordGivenUp(c, look, record, fault),
  record_restoring: (c, look, record, { fault }) => recordRestoring(c, look, record, fault),
  record_pending: (c, look, record, step) => recordPending(c, look, record, step),
  record_preempting: (c, look, record, { fault }) => recordPreempting(c, look, record, fault),
  record_requeued: (c, look, record) => recordRequeued(c, look, record),
  close_record: (c, look, record, step) => closeRecord(c, look, record, step),
  async claim_again(c, look, record, { replaces, at }) {
    const claimed = await claimAgain(c, record, replaces, at);
    if (claimed.kind === 'refused') await noteDoubt(c, look, 'claim_refused', claimed.reason);
    if (claimed.kind !== 'claimed') return undefined;
    const activeAt = at?.at ?? record.activeAt;
    const result = await writeRecord(c, record, { claimToken: claimed.claimToken, activeAt });
    return after(result.kind === 'written' ? look : holding(look, claimed.claimToken), result, undefined);
  },
  correct_token: async (c, look, record, { claimToken }) =>
    after(look, await writeRecord(c, record, { claimToken }), undefined),
};

/** The record changed while its claim was made again: what comes of the claim depends on what the record is by now. */
function holding(look: ReconcileInput, claimToken: number): ReconcileInput {
  const holds = { kind: 'claim', claimToken, isOnHost: true } as const;
  return { ...look, holds, observed: { kind: 'audited', hostIs: 'unsettled' } };
}

/** Records the attempt, then sends the order, so that a crash between the two is found by the record's deadline. */
async function dispatchBuild(c: Conductor, look: ReconcileInput, record: Instance, target: ClaimedHost) {
  // An instance given up by this write runs on, if its host is back.
  const fenced = record.state === 'rebuilding' ? await fenceOf(c, record.host) : undefined;
  if (fenced && 'fault' in fenced) {
    const observed = { kind: 'no_host', ...fenced, passedOver: [] } as const;
    return { ...look, observed };
  }
  const nowMs = c.clock.now();
  const { host, claimToken, allocationRequest, alternates } = target;
  const before = [...evacuated(record, nowMs), ...target.passedOver].slice(-MAX_ATTEMPTS_KEPT);
  const number = (before.at(-1)?.number ?? 0) + 1;
  const change = {
    state: 'building',
    host,
    claimToken,
    allocationRequest,
    attempts: [...before, attemptOn(host, number, nowMs)],
    alternates: alternatesCodec.encode(alternates),
    dueAtMs: nowMs + c.config.buildTimeoutMs,
    // Another host's reports are not in order with this one's.
    activeAt: undefined,
    missingIn: undefined,
    waiting: undefined,
    fault: undefined,
  } as const;
  const result = await writeRecord(c, record, change, fenced?.fence);
  if (result.kind !== 'written') return after(look, result, undefined);
  if (record.state === 'rebuilding') await destroyWhenBack(c, record);
  return order(c, look, result.record, target);
}

/** A move that it was on is over with that: what was kept at its source is given up, too. */
async function recordRebuilding(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
): Promise<ReconcileInput | undefined> {
  const dueAtMs = c.clock.now() + c.config.schedulingTimeoutMs;
  const result = await writeRecord(c, record, { ...asRebuilding(record), migration: undefined, dueAtMs });
  if (result.kind === 'written') {
    await releaseElsewhere(c, result.record);
    await releaseMigration(c, record);
  }
  return after(look, result, { kind: 'interrupted' });
}

/** Remembers what it is again when no other host takes it. */
function asRebuilding(record: Instance): RecordChange {
  if (isAttemptOpen(record)) return { state: 'rebuilding', formerState: record.formerState ?? 'building' };
  const isBuilt = BUILT_STATES.includes(record.state);
  return { state: 'rebuilding', formerState: isBuilt ? record.state : isKeptStopped(record) ? 'stopped' : 'active' };
}

/** Waits in the queue of the dead host, before all that it is ordered once it is back. Should it be lost, reports show the copy. */
async function destroyWhenBack(c: Conductor, record: Displaced): Promise<void> {
  const { uuid, host, claimToken = 0 } = record;
  const attempt = attemptNumber(record);
  await orderDestroy(c, uuid, { kind: 'destroy', host, attempt, claimToken, reports: false }, record);
}

async function order(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  details?: OrderDetails,
): Promise<ReconcileInput | undefined> {
  const refused = await orderBuild(c, record, details);
  return refused && { ...look, record, observed: refused };
}

async function conclude(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { outcome, why }: Extract<Step, { kind: 'conclude_attempt' }>,
): Promise<ReconcileInput | undefined> {
  const nowMs = c.clock.now();
  const { uuid, requestId, host = '' } = record;
  const dueAtMs = nowMs + c.config.schedulingTimeoutMs;
  const change = { attempts: concludeAttempt(record, outcome, why, nowMs), dueAtMs };
  const result = await writeRecord(c, record, change);
  if (result.kind === 'written') {
    c.measured.attempts.inc({ outcome });
    const fields = { event: 'attempt_failed', instance_uuid: uuid, request_id: requestId, host, outcome, reason: why };
    c.log.warn(fields, 'build attempt failed');
  }
  const isSilent = outcome === 'timed_out';
  const attempt = attemptNumber(record);
  return after(look, result, isSilent ? { kind: 'superseded', host, attempt } : { kind: 'nothing' });
}

interface Built {
  readonly state: 'active' | 'stopping';
  readonly dueAtMs: number | undefined;
  readonly at: HostPosition | undefined;
}

/** Its host has it: it is ACTIVE, or was stopped before it was built there, and its host is told to stop it. */
async function recordBuilt(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { at, ...change }: Built,
): Promise<ReconcileInput | undefined> {
  const nowMs = c.clock.now();
  const result = await writeRecord(c, record, {
    ...change,
    attempts: concludeAttempt(record, 'active', '', nowMs),
    alternates: NO_BYTES,
    fault: undefined,
    endsAtMs: endByTimeLimit(record, nowMs),
    formerState: undefined,
    // Agents of an older version have no epoch: what they say has no order.
    activeAt: at?.epoch ? at : undefined,
    missingIn: undefined,
  });
  if (result.kind === 'written' && record.state === 'building') {
    c.measured.attempts.inc({ outcome: 'active' });
    c.measured.activeAfter.observe((nowMs - record.createdAtMs) / 1000);
    await blameHosts(c, record);
  }
  return after(look, result, change.state === 'stopping' ? { kind: 'interrupted' } : undefined);
}

/**
 * The state when a rebuild does not happen: a running instance becomes `unknown`, one on its way is ordered again when due, and
 * one being built is due at once: its attempt is concluded then, unless the store lost writes and it may run there.
 */
function asBefore(c: Conductor, { formerState = 'unknown' }: Instance, fault: Fault): RecordChange {
  const beingBuilt = { state: 'building', fault, dueAtMs: c.clock.now() } as const;
  if (formerState === 'building') return { ...beingBuilt, formerState: undefined };
  // It was being unshelved.
  if (formerState === 'shelved_offloaded') return beingBuilt;
  const state = formerState === 'active' ? 'unknown' : formerState;
  const dueAtMs = isChanging(state) ? c.clock.now() + c.config.powerTimeoutMs : undefined;
  return { state, fault, dueAtMs, formerState: undefined };
}

/** A doubt: not an event for clients, whose instance is as active as before. */
async function recordMissing(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  missingIn: MissedReport,
): Promise<ReconcileInput | undefined> {
  const { uuid, host } = record;
  c.log.warn(
    { event: 'instance_missing', instance_uuid: uuid, host, ...missingIn },
    'instance missing in a report of its host',
  );
  const result = await writeRecord(c, record, { missingIn });
  if (result.kind === 'written') await noteDoubt(c, look, 'missing');
  return after(look, result, undefined);
}

async function destroy(
  c: Conductor,
  look: ReconcileInput,
  step: Extract<Step, { kind: 'destroy' }>,
): Promise<ReconcileInput | undefined> {
  if (look.observed.kind === 'reported') noteLateReport(c, look);
  // An operator disowns what runs there, whosever record there is.
  const outcome = await orderDestroy(c, look.uuid, step, look.observed.kind === 'disowned' ? undefined : look.record);
  if (look.observed.kind === 'superseded') return { ...look, observed: { kind: 'nothing' } };
  return outcome === 'told' || !step.reports ? undefined : { ...look, observed: { kind: outcome } };
}

/** The claimant of a claim to release: without a record its holder is not known to be an instance. */
function claimantOf({ uuid, record, holds }: ReconcileInput): Claimant {
  const consumerType = holds.kind === 'claim' ? holds.consumerType : undefined;
  return { uuid, projectId: record?.projectId, consumerType };
}

function noteRepair(c: Conductor, { uuid, record, observed }: ReconcileInput, finding: Finding): void {
  const host = 'host' in observed ? observed.host : record?.host;
  c.measured.mended.inc({ finding });
  c.log.warn({ event: 'repaired', finding, instance_uuid: uuid, host, state: record?.state }, 'repaired an instance');
}

function noteLateReport(c: Conductor, { uuid, observed }: ReconcileInput): void {
  if (observed.kind !== 'reported') return;
  const { host, attempt, outcome } = observed;
  c.measured.stale.inc();
  c.log.info(
    { event: 'late_report', instance_uuid: uuid, host, attempt, outcome },
    'report of an ended attempt ignored',
  );
}
