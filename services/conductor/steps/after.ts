import type { WriteResult } from '../lifecycle';
import type { Look, Observation } from '../observation';

/** What to look at after a write: what comes of it, or the same again on what somebody else wrote. */
export function after(look: Look, result: WriteResult, observed: Observation | undefined): Look | undefined {
  // Of a fence that is down the same is tried again: whoever does it raises it anew, or finds that the host is back.
  if (result.kind !== 'written') return { ...look, record: result.record };
  return observed && { ...look, record: result.record, observed };
}
