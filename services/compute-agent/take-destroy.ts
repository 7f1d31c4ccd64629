import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import type { DestroyInstance } from '#libs/contracts/messages';
import { type Host, persist } from './host';
import type { Carried } from './ledger';
import { DESTROYED, logFields, tell } from './tell';

/** Ends an instance, also one that is being built, or that has yet to come; tries until the driver has done it. */
export async function takeDestroy(host: Host, destroy: DestroyInstance): Promise<Settlement> {
  const { ledger, counts, log } = host;
  const { instanceUuid, attempt, report } = destroy;
  await host.ending.idle(instanceUuid);
  const carried = ledger.get(instanceUuid);
  const isNewer = carried !== undefined && attempt !== 0 && carried.attempt > attempt;
  if (!isNewer) {
    host.destroyed.note(instanceUuid, attempt || (carried?.attempt ?? EVERY_ATTEMPT));
    const isDone = await host.ending.run(instanceUuid, () => end(host, instanceUuid, carried));
    host.changed();
    if (!isDone) return REQUEUE;
    counts.destroys.inc();
    log.debug(logFields(host, destroy), 'destroyed');
  }
  if (!report) return ACK;
  const about = { instanceUuid, attempt: attempt || (carried?.attempt ?? 0), alternates: [] };
  return tell(host, { ...about, claimRevision: carried?.claimRevision ?? 0 }, DESTROYED);
}

/** Of an instance that is not here, whatever attempt comes late. */
const EVERY_ATTEMPT = Number.POSITIVE_INFINITY;

/** It holds its resources until nothing of it is left. */
function end(host: Host, uuid: string, carried: Carried | undefined): Promise<boolean> {
  const { builds, ledger, driver, journal, log, facts } = host;
  const hold = () => {
    if (carried) ledger.put({ ...carried, state: 'destroying' });
  };
  const attempt = async () => {
    hold();
    await builds.cancel(uuid);
    // A build that failed just now has let go of it.
    hold();
    await driver.destroy(uuid);
    await journal.remove(uuid);
    ledger.remove(uuid);
  };
  return persist(host, attempt, (error) =>
    log.warn({ host: facts.name, instance_uuid: uuid, error }, 'destroy failed; tries again'),
  );
}
