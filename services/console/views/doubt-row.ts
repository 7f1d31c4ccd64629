import type { Doubt } from '#libs/instances/doubts';
import type { DoubtRow } from '../api/host';

/** A doubt in the form for pages. */
export function doubtRow({ instanceUuid: uuid, host, finding, message, sinceMs }: Doubt): DoubtRow {
  return { uuid, host, finding, message, sinceMs };
}
