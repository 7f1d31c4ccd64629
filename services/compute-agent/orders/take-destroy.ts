import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import type { DestroyInstance } from '#libs/contracts/compute';
import { type Host, retryUntilDrainEnd } from '../host/host';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields, DESTROYED, reportBuild } from '../reports/report-build';

/** For an absent instance, a destroy of attempt 0, or without a claim, covers every late attempt. */
const EVERY = Number.MAX_SAFE_INTEGER;

/**
 * Destroys an instance, also one in progress or yet to come. Retries until the driver has succeeded. An instance of a
 * later attempt or claim is left alone, and the sender is told, because its record may be older. So is one of another
 * project, whose uuid a store that lost writes gave again: what the sender means is not here.
 */
export async function takeDestroy(host: Host, order: DestroyInstance): Promise<Settlement> {
  const { instanceUuid, report } = order;
  const { tracked, isKept, isDone } = await host.locks.run(instanceUuid, async () => {
    const present = host.ledger.get(instanceUuid);
    if (present && isAnothers(order, present)) return { tracked: undefined, isKept: false, isDone: true };
    const superseded = isSuperseded(order, present);
    return { tracked: present, isKept: superseded, isDone: superseded || (await destroy(host, order, present)) };
  });
  if (!isDone) return REQUEUE;
  await host.ordersInHand.get(instanceUuid);
  if (!report) return ACK;
  const attempt = order.attempt || (tracked?.attempt ?? 0);
  const claimToken = tracked?.claimToken ?? 0;
  const result = isKept ? { ...DESTROYED, keptClaimToken: claimToken } : DESTROYED;
  return reportBuild(host, { instanceUuid, attempt, claimToken, alternates: [] }, result);
}

function isAnothers({ projectId = '' }: DestroyInstance, tracked: TrackedInstance): boolean {
  return projectId !== '' && tracked.projectId !== projectId;
}

/** True when the instance belongs to a newer attempt or claim than the order's, which is gone then. */
function isSuperseded({ attempt, claimToken }: DestroyInstance, tracked: TrackedInstance | undefined): boolean {
  if (tracked === undefined) return false;
  return (attempt !== 0 && tracked.attempt > attempt) || (claimToken !== 0 && tracked.claimToken > claimToken);
}

/** Resolves to false when draining ended before success. */
async function destroy(host: Host, order: DestroyInstance, tracked: TrackedInstance | undefined): Promise<boolean> {
  const { builds, ledger, driver, journal, tombstones, endedBuilds, counters, log } = host;
  const { instanceUuid: uuid, attempt, claimToken } = order;
  const fields = attemptFields(host, order);
  const upTo = { attempt: attempt || (tracked?.attempt ?? EVERY), claimToken: claimToken || EVERY };
  const { deadlineAtMs } = tracked ?? {};
  tombstones.add(uuid, upTo, deadlineAtMs);
  // It holds its resources until nothing of it is left.
  const holdResources = () => {
    if (tracked) ledger.put({ ...tracked, state: 'destroying' });
  };
  const tryOnce = async () => {
    holdResources();
    await builds.cancel(uuid);
    // A build that failed just now has released them.
    holdResources();
    await driver.destroy(uuid);
    // A full disk must not hold up a destroy.
    await endedBuilds.keep({ uuid, ...upTo, deadlineAtMs }).catch((error: unknown) => {
      log.warn({ event: 'journal_failed', ...fields, error }, 'destroyed instance not journalled');
    });
    await journal.remove(uuid);
    ledger.remove(uuid);
    host.unreadable.delete(uuid);
  };
  const isDone = await retryUntilDrainEnd(host, tryOnce, (error) =>
    log.warn({ event: 'destroy_failed', ...fields, error }, 'destroy failed, retrying'),
  );
  host.reportSoon();
  if (isDone) {
    counters.destroys.inc();
    log.debug({ event: 'instance_destroyed', ...fields }, 'instance destroyed');
  }
  return isDone;
}
