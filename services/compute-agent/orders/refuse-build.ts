import type { ConcludedBuild } from '../host/ended/concluded-builds';
import type { Host } from '../host/host';
import type { BuildOrder } from '../host/tracked-instance';
import { attemptFields } from '../reports/report-build';

/** Counts and logs a refused build; returns the result to report. */
export function refuseBuild(
  host: Host,
  order: BuildOrder,
  { reason, message }: Pick<ConcludedBuild, 'reason' | 'message'>,
): ConcludedBuild {
  host.counters.refusals.inc({ reason });
  host.log.info({ event: 'build_refused', ...attemptFields(host, order), reason }, message);
  return { outcome: 'refused', reason, message };
}
