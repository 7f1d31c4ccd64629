import type { Bus } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { type HostDiscrepancy, type HostRefusal, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Log } from '#libs/runtime/log';
import type { SenderLog } from '#libs/runtime/sender-log';
import type { SchedulerMetrics } from '../metrics';
import { type Difference, turnOf } from './discrepancies';

export interface PublishDeps {
  readonly bus: Bus;
  readonly log: Log;
}

/** Tells conductors on what a report and the store disagree. */
export async function publishDifference(
  deps: PublishDeps & { readonly reported: SenderLog; readonly metrics: SchedulerMetrics },
  stats: UpdateResourceStatsRequest,
  difference: Difference & { readonly reporter: string },
  atMs: number,
): Promise<void> {
  const { host, providerUuid, serviceHost, epoch, position, sequence } = stats;
  const { unclaimed, missing, present } = difference;
  const { metrics } = deps;
  metrics.discrepancies.inc({ kind: 'unclaimed' }, unclaimed.length);
  metrics.discrepancies.inc({ kind: 'missing' }, missing.length);
  const counts = { unclaimed: unclaimed.length, missing: missing.length, present: present.length };
  if (counts.unclaimed + counts.missing > 0) {
    const fields = { event: 'host_discrepancy', host, ...counts };
    deps.reported.warn(difference.reporter, fields, 'host report and store disagree');
  }
  const told = { ...difference, unclaimed: turnOf(unclaimed, sequence) };
  await publish(deps, { host, providerUuid, serviceHost, epoch, position, sequence, atMs, ...told });
}

/** Tells conductors, who keep what operators are to see, that a host is not heard. Of a host that never was, nothing. */
export async function publishRefusal(
  deps: PublishDeps & { readonly mirror: Pick<PlacementView, 'host'> },
  name: string,
  refusal: HostRefusal & { readonly reporter: string },
  atMs: number,
): Promise<void> {
  const host = deps.mirror.host(name);
  if (!host) return;
  const { providerUuid, serviceHost } = host;
  const { reporter, reason, message } = refusal;
  const nothing = { unclaimed: [], missing: [], present: [], epoch: 0, position: 0, sequence: 0 };
  await publish(deps, {
    host: name,
    providerUuid,
    serviceHost,
    ...nothing,
    atMs,
    reporter,
    refusal: { reason, message },
  });
}

/** A discrepancy that can't be sent is found again by the next report or take-over. */
async function publish({ bus, log }: PublishDeps, discrepancy: HostDiscrepancy): Promise<void> {
  try {
    await castTyped({ bus, queue: BUILD_RESULTS }, hostDiscrepancyCodec, discrepancy);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const fields = { event: 'discrepancy_not_sent', host: discrepancy.host, reason: error.reason };
    log.warn(fields, `host discrepancy not sent to conductors: ${error.message}`);
  }
}
