import { publishVersion } from '#libs/bus/publish-version';
import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from './context';
import { isCounted, release } from './requests/reservations';

/** What a change of a record says: the rest stays. */
export type RecordChange = Partial<Omit<Instance, 'uuid' | 'version' | 'updatedAtMs'>>;

/** Tries of one change while others write the record. */
const MAX_TRIES = 10;

/**
 * Changes a record by what it is then, and publishes the new version; again, when somebody else wrote it meanwhile.
 *
 * @param change  undefined when there is nothing to change
 * @returns the record as it is after
 */
export async function changeRecord(
  t: TopConductor,
  uuid: string,
  change: (record: Instance) => RecordChange | undefined,
): Promise<Instance | undefined> {
  let [record] = await t.instances.get([uuid]);
  for (let tries = 0; record !== undefined && tries < MAX_TRIES; tries++) {
    const changed = change(record);
    if (changed === undefined) return record;
    const next: Instance = { ...record, ...changed, version: record.version + 1, updatedAtMs: t.clock.now() };
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

/** What is not given back now, because the store is away, is later. */
async function giveBack(t: TopConductor, record: Instance): Promise<void> {
  await release(t, [record]).catch((err: unknown) =>
    t.log.debug({ event: 'reservation_kept', err, instance_uuid: record.uuid }, 'a reservation is given back later'),
  );
}

/** A fault, and that it is looked after again; undefined when it says the same already. */
export function noted(
  t: TopConductor,
  record: Instance,
  fault: NonNullable<Instance['fault']>,
): RecordChange | undefined {
  if (record.fault?.message === fault.message) return undefined;
  return { fault, dueAtMs: t.clock.now() + t.config.syncIntervalMs };
}

/** Why an instance waits for its cell, for whoever looks at it. */
export async function noteFault(
  t: TopConductor,
  { uuid }: Pick<Instance, 'uuid'>,
  fault: NonNullable<Instance['fault']>,
): Promise<void> {
  await changeRecord(t, uuid, (record) => (isGiven(record) ? undefined : noted(t, record, fault)));
}

/** Whether it is its cell's to say what becomes of it. */
export function isGiven({ state, cell }: Pick<Instance, 'state' | 'cell'>): boolean {
  return state !== 'scheduling' || cell?.isHandedOver === true;
}

/** The id of an instance's request in its cell. */
export function requestIn({ cell, requestId }: Pick<Instance, 'cell' | 'requestId'>): string {
  return cell?.requestId ?? requestId;
}

/** Publishes versions of one instance, oldest first. What the broker does not take stays in the outbox. */
export async function publish(t: TopConductor, versions: readonly Instance[]): Promise<void> {
  try {
    for (const version of versions) await publishVersion(t.bus, version, t.log);
    const last = versions.at(-1);
    if (last) await t.instances.markPublished(last.uuid, last.version);
  } catch (err) {
    t.log.debug({ event: 'event_not_published', err, instance_uuid: versions[0]?.uuid }, 'event stays in the outbox');
  }
}

/** So long one conductor has for what is due, the choice of a cell included, before another looks after it. */
export function givingMs({ config }: TopConductor): number {
  return config.selectTimeoutMs + config.syncIntervalMs;
}

/** The states in which the top need not look after an instance: its cell tells when it leaves them. */
const RESTING: readonly Instance['state'][] = ['active', 'stopped', 'shelved_offloaded', 'error', 'deleted', 'unknown'];

/** When an instance in this state is to be looked after again. */
export function dueIn(t: TopConductor, state: Instance['state'], isEnding: boolean): number | undefined {
  const isOver = state === 'deleted' || (!isEnding && RESTING.includes(state));
  return isOver ? undefined : t.clock.now() + t.config.syncIntervalMs;
}
