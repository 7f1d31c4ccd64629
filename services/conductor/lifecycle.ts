import { BerthError } from '#libs/domain/errors';
import { type Attempt, canTransition, FIRST_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import type { CreateTerms, Fence } from '#libs/instances/store';
import { endHeldAlternates } from './alternates/held-alternates';
import type { ConductorContext } from './context';

/** Fields of a record that a step changes. */
export type RecordChange = Partial<
  Pick<
    Instance,
    | 'state'
    | 'host'
    | 'claimToken'
    | 'allocationRequest'
    | 'attempts'
    | 'fault'
    | 'alternates'
    | 'dueAtMs'
    | 'activeAt'
    | 'missingIn'
    | 'waiting'
    | 'endsAtMs'
    | 'formerState'
    | 'migration'
    | 'requestSpec'
  >
>;

/** The version that was written, or what somebody else wrote before; undefined when the record is gone. */
export type WriteResult =
  | { readonly kind: 'written'; readonly record: Instance }
  | { readonly kind: 'changed_meanwhile'; readonly record: Instance | undefined }
  /** The host that was to be fenced is not, or not any more. */
  | { readonly kind: 'not_fenced'; readonly record: Instance };

/**
 * Writes the next version of a record, guarded by the present one, and with it its event, which is published at once. Nobody
 * waits for that: what can't be published now stays in the outbox.
 *
 * @param fence  that must hold in the same commit
 * @throws BerthError `internal / bad_transition` when the lifecycle does not allow it: a fault of Berth.
 */
export async function writeRecord(
  c: ConductorContext,
  record: Instance,
  change: RecordChange,
  fence?: Fence,
): Promise<WriteResult> {
  const changed = { ...record, ...change, version: record.version + 1, updatedAtMs: c.clock.now() };
  // A change of state brings what the next state has; the simulation checks each write (`misfits`).
  const next = { ...changed, dueAtMs: changed.dueAtMs ?? endByLimitMs(changed) } as Instance;
  if (!canTransition(record.state, next.state)) throw badTransition(record.uuid, record.state, next.state);
  const guards = { fence, storedAtMs: record.updatedAtMs };
  const { updated, instance, unpublished, isUnfenced } = await c.instances.update(next, guards);
  if (isUnfenced) return { kind: 'not_fenced', record };
  if (!updated) return { kind: 'changed_meanwhile', record: instance };
  void c.events.publish(unpublished);
  c.measured.states.inc({ state: next.state });
  c.log.info(
    {
      event: 'instance_state',
      instance_uuid: next.uuid,
      request_id: next.requestId,
      host: next.host,
      state: next.state,
    },
    'instance state changed',
  );
  if (record.admission?.alternatesHeld || record.waiting?.preemption) await endHeldAlternates(c, record, next);
  return { kind: 'written', record: next };
}

/** Where nothing else is awaited, its time limit is. */
function endByLimitMs({ state, endsAtMs }: Pick<Instance, 'state' | 'endsAtMs'>): number | undefined {
  return LIMITED.includes(state) ? endsAtMs : undefined;
}

const LIMITED: readonly InstanceState[] = ['active', 'unknown', 'stopped', 'shelved_offloaded', 'verify_resize'];

/** The time at which its time limit ends it, counted from now when it is ACTIVE for the first time. */
export function endByTimeLimit({ endsAtMs, admission }: Instance, nowMs: number): number | undefined {
  if (endsAtMs !== undefined || !admission?.timeLimitMs) return endsAtMs;
  return nowMs + admission.timeLimitMs;
}

/**
 * Stores new records of a request with their events: all or, when the request is known, none.
 *
 * @throws BerthError as `InstanceStore.create`; `internal / bad_transition`.
 */
export async function createRecords(
  c: ConductorContext,
  requestId: string,
  records: readonly Instance[],
  terms?: CreateTerms,
) {
  const bad = records.find(({ state }) => !FIRST_STATES.includes(state));
  if (bad) throw badTransition(bad.uuid, 'none', bad.state);
  const due = records.map((one) => ({ ...one, dueAtMs: one.dueAtMs ?? endByLimitMs(one) }));
  const result = await c.instances.create(requestId, due, terms);
  if (result.created) for (const record of result.instances) void c.events.publish([record]);
  return result;
}

/** The record as it is now; undefined when there is none. */
export async function readRecord(c: ConductorContext, uuid: string): Promise<Instance | undefined> {
  const [record] = await c.instances.get([uuid]);
  return record;
}

/** An instance may be evacuated without end: of its attempts the last are kept. */
export const MAX_ATTEMPTS_KEPT = 100;

/** The reason of an attempt that was under way on a host that died. */
export const EVACUATED = 'its host is dead, and it was evacuated';

/** From now on what is left on the dead host is to go: what was ACTIVE there, and what its host was ordered last. */
export function evacuated({ state, attempts }: Instance, endedAtMs: number): readonly Attempt[] {
  if (state !== 'rebuilding') return attempts;
  return attempts.map((one) => {
    if (one.outcome === 'building') return { ...one, outcome: 'timed_out', reason: EVACUATED, endedAtMs };
    return one.outcome === 'active' ? { ...one, outcome: 'evacuated' } : one;
  });
}

/** The attempts of what was ACTIVE and is no longer: what became of it. */
export function leftActive(attempts: readonly Attempt[], outcome: Attempt['outcome']): readonly Attempt[] {
  return attempts.map((one) => (one.outcome === 'active' ? { ...one, outcome } : one));
}

/** A new attempt, which its host is about to be ordered. */
export function attemptOn(host: string, number: number, nowMs: number): Attempt {
  return { host, number, outcome: 'building', reason: '', startedAtMs: nowMs, endedAtMs: undefined };
}

/** No alternates, or no allocation request. */
export const NO_BYTES = new Uint8Array();

/** The attempts of a record with an outcome for the one that is open, if one is. */
export function concludeAttempt(
  { attempts }: Instance,
  outcome: Attempt['outcome'],
  reason: string,
  nowMs: number,
): readonly Attempt[] {
  const last = attempts.at(-1);
  if (last?.outcome !== 'building') return attempts;
  return [...attempts.slice(0, -1), { ...last, outcome, reason, endedAtMs: nowMs }];
}

function badTransition(uuid: string, from: InstanceState | 'none', to: InstanceState): BerthError {
  return new BerthError('internal', 'bad_transition', `instance ${uuid} can not go from '${from}' to '${to}'`);
}
