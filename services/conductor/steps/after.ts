import type { WriteResult } from '../lifecycle';
import type { Observation, ReconcileInput } from '../observation';

/** The next input after a write: its outcome, or the same again on a record that another conductor wrote. */
export function after(
  look: ReconcileInput,
  result: WriteResult,
  observed: Observation | undefined,
): ReconcileInput | undefined {
  // After a lost fence the same is tried again: the executor raises it anew, or finds that the host is back.
  if (result.kind !== 'written') return { ...look, record: result.record };
  return observed && { ...look, record: result.record, observed, callId: undefined };
}
