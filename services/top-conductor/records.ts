import { publishVersion } from '#libs/bus/publish-version';
import type { InstanceRow } from '#libs/domain/instance';
import type { TopConductor } from './context';
import { isCounted, release } from './requests/reservations';

/** Changed fields of a record. */
export type RecordChange = Partial<Omit<InstanceRow, 'uuid' | 'version' | 'updatedAtMs'>>;

/** Limit of the tries of one change against concurrent writers. */
const MAX_TRIES = 10;

/**
 * Changes a record based on its present content, and publishes the new version; retries after a concurrent write.
 *
 * @param change  undefined for no change
 * @returns the record afterwards
 */
export async function changeRecord(
  t: TopConductor,
  uuid: string,
  change: (record: InstanceRow) => RecordChange | undefined,
): Promise<InstanceRow | undefined> {
  let [record] = await t.instances.get([uuid]);
  for (let tries = 0; record !== undefined && tries < MAX_TRIES; tries++) {
    const changed = change(record);
    if (changed === undefined) return record;
    const next: InstanceRow = { ...record, ...changed, version: record.version + 1, updatedAtMs: t.clock.now() };
    const { updated, instance, unpublished } = await t.instances.update(next, { storedAtMs: record.updatedAtMs });
    if (updated) {
      if (isCounted(record) && !isCounted(next)) await giveBack(t, next);
      await publish(t, unpublished);
      return instance;
    }
    record = instance;
  }
  return record;
}

/** A reservation that can't be released now, because the store is away, is released later. */
async function giveBack(t: TopConductor, record: InstanceRow): Promise<void> {
  await release(t, [record]).catch((err: unknown) =>
    t.log.debug(
      { event: 'reservation_kept', err, instance_uuid: record.uuid },
      'reservation not released, retrying later',
    ),
  );
}

/** A fault with a new due time; undefined when the record already has it. */
export function noted(
  t: TopConductor,
  record: InstanceRow,
  fault: NonNullable<InstanceRow['fault']>,
): RecordChange | undefined {
  if (record.fault?.message === fault.message) return undefined;
  return { fault, dueAtMs: t.clock.now() + t.config.syncIntervalMs };
}

/** Records why an instance waits for its cell, for people. */
export async function noteFault(
  t: TopConductor,
  { uuid }: Pick<InstanceRow, 'uuid'>,
  fault: NonNullable<InstanceRow['fault']>,
): Promise<void> {
  await changeRecord(t, uuid, (record) => (isGiven(record) ? undefined : noted(t, record, fault)));
}

/** True when its cell decides about it. */
export function isGiven({ state, cell }: Pick<InstanceRow, 'state' | 'cell'>): boolean {
  return state !== 'scheduling' || cell?.isHandedOver === true;
}

/** The id of an instance's request in its cell. */
export function requestIn({ cell, requestId }: Pick<InstanceRow, 'cell' | 'requestId'>): string {
  return cell?.requestId ?? requestId;
}

/** Publishes versions of one instance, oldest first. A version that the broker does not take stays in the outbox. */
export async function publish(t: TopConductor, versions: readonly InstanceRow[]): Promise<void> {
  const staysInOutbox = (err: unknown) =>
    t.log.debug({ event: 'event_not_published', err, instance_uuid: versions[0]?.uuid }, 'event stays in the outbox');
  try {
    for (const version of versions) await publishVersion(t.bus, version, t.log);
    const last = versions.at(-1);
    if (last) void t.instances.markPublished(last.uuid, last.version).catch(staysInOutbox);
  } catch (err) {
    staysInOutbox(err);
  }
}

/** Time limit of one conductor for due work, including the choice of a cell, before another takes over. */
export function givingMs({ config }: TopConductor): number {
  return config.selectTimeoutMs + config.syncIntervalMs;
}

/** The states without work for the top: the cell reports when an instance leaves them. */
const RESTING: readonly InstanceRow['state'][] = [
  'active',
  'stopped',
  'shelved_offloaded',
  'error',
  'deleted',
  'unknown',
];

/** Due time of an instance in this state. */
export function dueIn(t: TopConductor, state: InstanceRow['state'], isEnding: boolean): number | undefined {
  const isOver = state === 'deleted' || (!isEnding && RESTING.includes(state));
  return isOver ? undefined : t.clock.now() + t.config.syncIntervalMs;
}
