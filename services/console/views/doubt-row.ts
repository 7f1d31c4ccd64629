import type { Doubt } from '#libs/instances/doubts';
import type { DoubtRow } from '../api/host';

/** A doubt as a page shows it. */
export function doubtRow({ instanceUuid: uuid, host, finding, message, sinceMs }: Doubt): DoubtRow {
  return { uuid, host, finding, message, sinceMs };
}
