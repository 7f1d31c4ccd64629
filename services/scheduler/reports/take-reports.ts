import type { Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { acquireHostsMethod, releaseHostsMethod } from '#libs/contracts/host-leases';
import { type Identity, nameOf } from '#libs/contracts/identity';
import type { AcquireHostsRequest, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Surroundings } from '#libs/runtime/service';
import type { SchedulerMetrics } from '../metrics';
import type { SchedulerConfig } from '../options';
import { type Difference, findDifference } from './discrepancies';
import { acquireHosts, releaseHosts } from './host-holders';
import { updateResourceStats } from './update-resource-stats';
import { validateStats } from './validate';

export interface ReportDeps extends Pick<Surroundings, 'clock' | 'log'> {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly config: SchedulerConfig;
}

/** What agents call on the queue `stats`, each call logged and counted. */
export function reportCalls(deps: ReportDeps, metrics: SchedulerMetrics) {
  const { placement, clock } = deps;
  return {
    ...answer(updateResourceStatsMethod, (stats, { identity }) => takeReport(deps, metrics, stats, identity)),
    ...answer(acquireHostsMethod, (request, { identity }) => takeAcquisition(deps, metrics, request, identity)),
    ...answer(releaseHostsMethod, async (request, { identity }) => {
      await releaseHosts(request, identity, placement);
      return {};
    }),
  };

  async function takeAcquisition(
    { log }: ReportDeps,
    { grants: counted }: SchedulerMetrics,
    request: AcquireHostsRequest,
    sender: Identity,
  ) {
    const grants = await acquireHosts(request, sender, placement, clock.now());
    const takenCount = grants.filter(({ epoch }) => epoch === 0).length;
    counted.inc({ outcome: 'granted' }, grants.length - takenCount);
    counted.inc({ outcome: 'host_taken' }, takenCount);
    const fields = { service_host: request.serviceHost, agent_run: request.agentRun, host_count: grants.length };
    if (takenCount > 0) {
      log.warn({ event: 'host_taken', ...fields, taken_count: takenCount }, 'another run of an agent holds the hosts');
    } else log.debug({ event: 'hosts_acquired', ...fields }, 'an agent holds its hosts');
    return { grants };
  }
}

async function takeReport(
  deps: ReportDeps,
  metrics: SchedulerMetrics,
  stats: UpdateResourceStatsRequest,
  sender: Identity,
) {
  const { mirror, placement, clock, config, log } = deps;
  const nowMs = clock.now();
  try {
    validateStats(stats, sender, config.maxReportedInstances);
    // By what the mirror shows before the report is applied: it says whether the host was down, and who held it.
    const difference = await findDifference(stats, {
      view: mirror,
      placement,
      nowMs,
      graceMs: config.discrepancyGraceMs,
    });
    const unclaimed = difference?.unclaimed ?? [];
    const response = await updateResourceStats(stats, { placement, mirror, nowMs, unclaimed });
    metrics.stats.inc({ outcome: 'accepted' });
    if (difference) await sendDiscrepancy(deps, metrics, stats, difference, nowMs);
    return response;
  } catch (thrown) {
    const error = BerthError.from(thrown);
    metrics.stats.inc({ outcome: error.reason });
    log.warn(
      {
        event: 'host_report_refused',
        sender: nameOf(sender),
        code: error.code,
        reason: error.reason,
        ...error.details,
      },
      `host report refused: ${error.message}`,
    );
    throw error;
  }
}

/** A discrepancy that can't be sent does not refuse the report: the next one finds the same. */
async function sendDiscrepancy(
  { bus, log }: ReportDeps,
  metrics: SchedulerMetrics,
  stats: UpdateResourceStatsRequest,
  difference: Difference,
  atMs: number,
): Promise<void> {
  const { host, providerUuid, serviceHost, epoch, position, sequence } = stats;
  try {
    const { unclaimed, missing, present } = difference;
    metrics.discrepancies.inc({ kind: 'unclaimed' }, unclaimed.length);
    metrics.discrepancies.inc({ kind: 'missing' }, missing.length);
    const counts = { unclaimed: unclaimed.length, missing: missing.length, present: present.length };
    if (counts.unclaimed + counts.missing > 0) {
      log.warn({ event: 'host_discrepancy', host, ...counts }, 'host report and store disagree');
    }
    const discrepancy = { host, providerUuid, serviceHost, epoch, position, sequence, atMs, ...difference };
    await castTyped(bus, BUILD_RESULTS, hostDiscrepancyCodec, discrepancy);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const fields = { event: 'discrepancy_not_sent', host, reason: error.reason };
    log.warn(fields, `host discrepancy not sent to conductors: ${error.message}`);
  }
}
