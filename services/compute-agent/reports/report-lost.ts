import type { Host } from '../host/host';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields, reportBuild } from './report-build';

/** Reports exited instances, and tracks unfinished reports. */
export class LostReports {
  readonly #pending = new Set<Promise<void>>();

  /** Reports each later exit of a host's running instances. */
  watch(host: Host): void {
    host.exits.onExit((uuid, why) => {
      const instance = host.ledger.get(uuid);
      if (instance?.state !== 'running') return;
      host.ledger.remove(uuid);
      host.reportSoon();
      this.report(host, instance, why);
    });
  }

  /** Reports an exited instance that has left the ledger. */
  report(host: Host, instance: TrackedInstance, why: string): void {
    const reporting = reportLost(host, instance, why).finally(() => this.#pending.delete(reporting));
    this.#pending.add(reporting);
  }

  /** Resolves when all are reported, or given up at the end of draining. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

/**
 * Removes a lost instance's remains and reports it. It stays in the journal until it is reported, so that an agent that
 * dies before reports it after its restart. Never rejects.
 */
async function reportLost(host: Host, instance: TrackedInstance, why: string): Promise<void> {
  const { log, driver, journal, counters, tombstones, locks, ordersInHand } = host;
  const { uuid, attempt, claimToken, requestId, deadlineAtMs } = instance;
  const fields = attemptFields(host, { instanceUuid: uuid, attempt, requestId });
  log.warn({ event: 'instance_lost', ...fields, why }, 'instance lost: it stopped by itself');
  counters.builds.inc({ outcome: 'lost' });
  // The order that built it may be redelivered.
  tombstones.add(uuid, { attempt, claimToken }, deadlineAtMs);
  try {
    await locks.run(uuid, () => driver.destroy(uuid));
    // Its build is reported first.
    await ordersInHand.get(uuid);
    const about = { instanceUuid: uuid, attempt, claimToken, alternates: [] };
    const settlement = await reportBuild(host, about, { outcome: 'lost', reason: 'exited', message: why });
    if (settlement.kind !== 'ack') return;
    await host.endedBuilds.keep({ uuid, attempt, claimToken, deadlineAtMs });
    await journal.remove(uuid);
  } catch (error) {
    log.error({ event: 'lost_instance_not_cleared', ...fields, error }, 'lost instance not cleared or not reported');
  }
}
