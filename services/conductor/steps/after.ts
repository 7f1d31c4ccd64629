import type { WriteResult } from '../lifecycle';
import type { Look, Observation } from '../observation';

/** What to look at after a write: what comes of it, or the same again on what somebody else wrote. */
export function after(look: Look, result: WriteResult, observed: Observation | undefined): Look | undefined {
  if (result.kind === 'changed_meanwhile') return { ...look, record: result.record };
  return observed && { ...look, record: result.record, observed };
}
