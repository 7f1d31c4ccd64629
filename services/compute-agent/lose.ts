import type { Host } from './host';
import type { Carried } from './ledger';
import { logFields, tell } from './tell';

/**
 * Tells the conductors that an instance stopped by itself, and clears what is left of it. It stays in the journal until
 * that is told, so that an agent that dies before tells it later. Never rejects.
 */
export async function lose(host: Host, carried: Carried, why: string): Promise<void> {
  const { log, driver, journal, counts, destroyed, ending } = host;
  const { uuid, attempt, claimRevision, requestId } = carried;
  const fields = logFields(host, { instanceUuid: uuid, attempt, requestId });
  log.warn({ ...fields, why }, 'instance lost');
  counts.builds.inc({ outcome: 'lost' });
  // The message that built it may come again.
  destroyed.note(uuid, attempt);
  try {
    await ending.run(uuid, () => driver.destroy(uuid));
    const about = { instanceUuid: uuid, attempt, claimRevision, alternates: [] };
    const settled = await tell(host, about, { outcome: 'lost', reason: 'exited', message: why });
    if (settled.kind === 'ack') await journal.remove(uuid);
  } catch (error) {
    log.error({ ...fields, error }, 'what is left of a lost instance could not be cleared');
  }
}
