import { type Host, retryUntilDrainEnd } from '../host/host';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields } from '../reports/report-build';

/**
 * Puts an instance into the ledger at once, and into the journal with as many tries as needed; resolves to false when
 * draining ended before.
 */
export function keepInstance(host: Host, instance: TrackedInstance): Promise<boolean> {
  host.ledger.put(instance);
  return journalInstance(host, instance);
}

/** Likewise, into the journal alone: for the next run of the agent, should this one die. */
export function journalInstance(host: Host, instance: TrackedInstance): Promise<boolean> {
  const { uuid: instanceUuid, attempt, requestId } = instance;
  const fields = attemptFields(host, { instanceUuid, attempt, requestId });
  return retryUntilDrainEnd(
    host,
    () => host.journal.put(instance),
    (error) => host.log.warn({ event: 'journal_failed', ...fields, error }, 'not journalled, retrying'),
  );
}
