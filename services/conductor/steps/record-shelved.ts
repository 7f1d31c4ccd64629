import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { leftActive, MAX_ATTEMPTS_KEPT, NO_BYTES, type RecordChange, writeRecord } from '../lifecycle';
import type { ReconcileInput } from '../observation';
import type { Step } from '../step';
import { after } from './after';
import { release } from './claims';

/**
 * The record first, then the claim that it named: what dies in between is left to the audit. What is unshelved and finds no host
 * is shelved as before, and has lost nothing but a claim that it may have had on the way.
 */
export async function recordShelved(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  { fault, passedOver = [] }: Extract<Step, { kind: 'record_shelved' }>,
): Promise<ReconcileInput | undefined> {
  const result = await writeRecord(c, record, {
    ...AT_NO_HOST,
    state: 'shelved_offloaded',
    fault,
    attempts: [...leftActive(record.attempts, 'shelved'), ...passedOver].slice(-MAX_ATTEMPTS_KEPT),
  });
  if (result.kind === 'written' && record.claimToken !== undefined) await release(c, record, record.claimToken);
  return after(look, result, undefined);
}

/** Its claim is known on: what is claimed for it later is newer. */
const AT_NO_HOST: RecordChange = {
  host: undefined,
  allocationRequest: NO_BYTES,
  alternates: NO_BYTES,
  activeAt: undefined,
  missingIn: undefined,
  dueAtMs: undefined,
  formerState: undefined,
};
