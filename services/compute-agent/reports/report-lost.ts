import { sleep } from '#libs/domain/clock';
import type { Host } from '../host/host';
import type { TrackedInstance } from '../host/ledger';
import { TOMBSTONE_KEPT_MS } from '../host/tombstones';
import { attemptFields, reportBuild } from './report-build';

/** Reports instances that stopped by themselves, and knows which of these reports are not done. */
export class LostReports {
  readonly #pending = new Set<Promise<void>>();

  /** Reports each running instance of a host that stops by itself from now on. */
  watch(host: Host): void {
    host.exits.onExit((uuid, why) => {
      const instance = host.ledger.get(uuid);
      if (instance?.state !== 'running') return;
      host.ledger.remove(uuid);
      host.reportSoon();
      this.report(host, instance, why);
    });
  }

  /** Reports an instance that stopped by itself and is no longer in the ledger. */
  report(host: Host, instance: TrackedInstance, why: string): void {
    const reporting = reportLost(host, instance, why).finally(() => this.#pending.delete(reporting));
    this.#pending.add(reporting);
  }

  /** Resolves when all is reported, or given up because draining is over. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

/**
 * Clears what is left of a lost instance and reports it. It stays in the journal until it is reported, so that an agent
 * that dies before that reports it after its restart. Never rejects.
 */
async function reportLost(host: Host, instance: TrackedInstance, why: string): Promise<void> {
  const { log, driver, journal, counters, tombstones, locks, ordersInHand } = host;
  const { uuid, attempt, claimToken, requestId } = instance;
  const fields = attemptFields(host, { instanceUuid: uuid, attempt, requestId });
  log.warn({ event: 'instance_lost', ...fields, why }, 'instance lost: it stopped by itself');
  counters.builds.inc({ outcome: 'lost' });
  // The order that built it may be redelivered.
  tombstones.add(uuid, { attempt, claimToken });
  try {
    await locks.run(uuid, () => driver.destroy(uuid));
    // That it was built is reported before.
    await ordersInHand.get(uuid);
    const about = { instanceUuid: uuid, attempt, claimToken, alternates: [] };
    const settlement = await reportBuild(host, about, { outcome: 'lost', reason: 'exited', message: why });
    if (settlement.kind !== 'ack') return;
    // Also by a later run of the agent: its record is in ERROR, and what would be built is nobody's.
    await journal.putLost(instance);
    await journal.remove(uuid);
    void forgetLost(host, uuid);
  } catch (error) {
    log.error({ event: 'lost_instance_not_cleared', ...fields, error }, 'lost instance not cleared or not reported');
  }
}

/** Of the runs before: the orders that built these may still be redelivered. */
export async function rememberLost(host: Host): Promise<void> {
  for (const { uuid, ...builtBy } of await host.journal.loadLost()) {
    host.tombstones.add(uuid, builtBy);
    void forgetLost(host, uuid);
  }
}

/** When the tombstone goes, unless the agent ends before. */
async function forgetLost({ clock, drainEnd, journal, log, facts }: Host, uuid: string): Promise<void> {
  await sleep(clock, TOMBSTONE_KEPT_MS, drainEnd);
  if (drainEnd.aborted) return;
  await journal.removeLost(uuid).catch((error: unknown) => {
    log.warn({ event: 'journal_failed', host: facts.name, instance_uuid: uuid, error }, 'lost instance not forgotten');
  });
}
