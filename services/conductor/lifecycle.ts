import { instanceEventCodec } from '#libs/contracts/instance';
import { instanceTopic } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { type Attempt, canTransition, FIRST_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import type { Conductor } from './context';

/** What a step changes of a record. */
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
  >
>;

/** The version that was written, or what somebody else wrote before; undefined when the record is gone. */
export type WriteResult =
  | { readonly kind: 'written'; readonly record: Instance }
  | { readonly kind: 'changed_meanwhile'; readonly record: Instance | undefined };

/**
 * Writes the next version of a record, guarded by the present one. Whoever calls it announces the version before anybody
 * can write the one after.
 *
 * @throws BerthError `internal / bad_transition` when the lifecycle does not allow it: a fault of Berth.
 */
export async function writeRecord(c: Conductor, record: Instance, change: RecordChange): Promise<WriteResult> {
  const next = { ...record, ...change, version: record.version + 1, updatedAtMs: c.clock.now() };
  if (!canTransition(record.state, next.state)) throw badTransition(record.uuid, record.state, next.state);
  const { updated, instance } = await c.instances.update(next);
  if (!updated) return { kind: 'changed_meanwhile', record: instance };
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
  return { kind: 'written', record: next };
}

/** The same, and publishes the version. */
export async function writeAndAnnounce(c: Conductor, record: Instance, change: RecordChange): Promise<WriteResult> {
  const result = await writeRecord(c, record, change);
  if (result.kind === 'written') await announce(c, result.record);
  return result;
}

/**
 * Stores new records of a request: all or, when the request is known, none.
 *
 * @throws BerthError as `InstanceStore.create`; `internal / bad_transition`.
 */
export function createRecords(c: Conductor, requestId: string, records: readonly Instance[]) {
  const bad = records.find(({ state }) => !FIRST_STATES.includes(state));
  if (bad) throw badTransition(bad.uuid, 'none', bad.state);
  return c.instances.create(requestId, records);
}

/** The record as it is now; undefined when there is none. */
export async function readRecord(c: Conductor, uuid: string): Promise<Instance | undefined> {
  const [record] = await c.instances.get([uuid]);
  return record;
}

/** Publishes the state of an instance. At least once for each version: listeners compare versions. */
export function announce(c: Conductor, record: Instance): Promise<void> {
  const topic = instanceTopic(record.state, record.projectId, record.uuid);
  const body = instanceEventCodec.encode({
    instanceUuid: record.uuid,
    requestId: record.requestId,
    projectId: record.projectId,
    state: record.state,
    host: record.host ?? '',
    atMs: record.updatedAtMs,
    version: record.version,
    fault: faultError(record),
    attempts: record.attempts,
    name: record.name,
  });
  return c.bus.publish(topic, { type: instanceEventCodec.type, body });
}

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

/** A fault as errors travel. */
export function faultError({ fault }: Instance): BerthError | undefined {
  return fault && new BerthError('failed_precondition', fault.reason, fault.message);
}

function badTransition(uuid: string, from: InstanceState | 'none', to: InstanceState): BerthError {
  return new BerthError('internal', 'bad_transition', `instance ${uuid} can not go from '${from}' to '${to}'`);
}
