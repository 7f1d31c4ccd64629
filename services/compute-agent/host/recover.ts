import { buildToCarryOn } from './build-order';
import { type Host, refreshExternalUsage } from './host';
import type { TrackedInstance } from './tracked-instance';

/**
 * Recovers the instances in a host's journal: adopts running ones, keeps stopped ones, and destroys half-built ones,
 * whose unacked order is redelivered, unless the driver continues them. Resolves to the lost ones, which ran and are
 * gone.
 */
export async function recoverInstances(host: Host, remembered: readonly TrackedInstance[]): Promise<TrackedInstance[]> {
  const { driver, journal, ledger, log, facts, carriedOn } = host;
  const fieldsOf = ({ uuid, requestId }: TrackedInstance) => {
    return { host: facts.name, instance_uuid: uuid, request_id: requestId };
  };
  for (const instance of remembered) {
    const order = driver.carriesOn && buildToCarryOn(instance);
    if (order) carriedOn.set(instance.uuid, order);
  }
  const halfBuilt = remembered.filter(
    ({ uuid, state }) => state === 'destroying' || (state === 'building' && !carriedOn.has(uuid)),
  );
  for (const instance of halfBuilt) {
    await driver.destroy(instance.uuid);
    await journal.remove(instance.uuid);
    log.info({ event: 'instance_discarded', ...fieldsOf(instance) }, 'destroyed a half-built instance after a restart');
  }
  for (const instance of remembered.filter(({ state }) => state === 'stopping' || state === 'stopped')) {
    // The former run may have died during its stop or start: that order comes again.
    await driver.stop(instance.uuid);
    ledger.put({ ...instance, state: 'stopped' });
  }
  // Tracked before the driver is asked, so that an exit meanwhile counts as a loss.
  const wereRunning = remembered.filter(({ state }) => state === 'running');
  for (const instance of wereRunning) ledger.put(instance);
  const running = new Set((await driver.list()).map(({ id }) => id));
  const lost: TrackedInstance[] = [];
  for (const instance of wereRunning) {
    if (ledger.get(instance.uuid) === undefined) continue;
    if (running.has(instance.uuid)) {
      ledger.put({ ...instance, handedOver: false });
      log.info({ event: 'instance_adopted', ...fieldsOf(instance) }, 'adopted a running instance after a restart');
    } else if (instance.handedOver) {
      ledger.put({ ...instance, state: 'stopped' });
      log.info({ event: 'instance_handed_over', ...fieldsOf(instance) }, 'the run before had handed it over');
    } else {
      ledger.remove(instance.uuid);
      lost.push(instance);
    }
  }
  await refreshExternalUsage(host);
  return lost;
}

/** Refuses the orders of builds that ended in earlier runs, and answers those that failed as before. */
export async function recallEnded({ endedBuilds, concluded, tombstones }: Host): Promise<void> {
  for (const { uuid, attempt, claimToken, result, deadlineAtMs } of await endedBuilds.recall()) {
    if (result) concluded.add({ instanceUuid: uuid, attempt, claimToken }, result, deadlineAtMs);
    else tombstones.add(uuid, { attempt, claimToken }, deadlineAtMs);
  }
}
