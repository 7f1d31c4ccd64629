import { answer } from '#libs/bus/typed-calls';
import {
  type AcquireHostsRequest,
  acquireHostsMethod,
  type HostGrant,
  releaseHostsMethod,
} from '#libs/contracts/host-leases';
import { type Identity, isPoolAgent, nameOf, speaksForHost } from '#libs/contracts/identity';
import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import { type SenderLog, senderLog } from '#libs/runtime/sender-log';
import type { SchedulerMetrics } from '../metrics';
import { newNames } from '../nodes/new-names';
import { requireHolder } from '../nodes/pool-rights';
import { requireSharingGranted } from '../nodes/report-grants';
import { boundNames } from './bound-names';
import { findDifference } from './discrepancies';
import { clearFailures, hasBuiltSince, recordRefusal } from './host-failures';
import { acquireHosts, releaseHosts } from './host-holders';
import { hearingOf, lossKeeper } from './losses/heard-in-full';
import { publishDifference, publishRefusal } from './publish-discrepancy';
import type { ReportDeps } from './report-deps';
import type { ReportsHeard } from './sweep';
import { updateResourceStats } from './update-resource-stats';
import { validateStats } from './validate';

/**
 * Calls of agents on the queue `stats`, each logged and counted.
 *
 * @param heard  notes when a report could not be taken, because the store is away or refuses writes
 */
export function reportCalls(deps: ReportDeps, metrics: SchedulerMetrics, heard: ReportsHeard) {
  const { placement, clock, log } = deps;
  const countNew = newNames();
  const lossUpTo = lossKeeper(placement, clock);
  const reported = senderLog(log, clock);
  return {
    ...answer(updateResourceStatsMethod, (stats, { identity }) =>
      takeReport({ ...deps, lossUpTo, reported, heard }, metrics, stats, identity),
    ),
    ...answer(acquireHostsMethod, (request, { identity }) => takeAcquisition(metrics, request, identity)),
    ...answer(releaseHostsMethod, async (request, { identity }) => {
      await releaseHosts(request, identity, placement);
      return {};
    }),
  };

  async function takeAcquisition(
    { grants: counted }: SchedulerMetrics,
    request: AcquireHostsRequest,
    sender: Identity,
  ) {
    const atMs = clock.now();
    const grants = await acquireHosts(request, sender, { placement, countNew, nowMs: atMs });
    const takenCount = grants.filter(({ epoch }) => epoch === 0).length;
    counted.inc({ outcome: 'granted' }, grants.length - takenCount);
    counted.inc({ outcome: 'host_taken' }, takenCount);
    const fields = { service_host: request.serviceHost, agent_run: request.agentRun, host_count: grants.length };
    // Agents of a pool ask for what the ring names them for, and another may keep it for a while.
    if (takenCount > 0 && !request.pool) {
      reported.warn(
        nameOf(sender),
        { event: 'host_taken', ...fields, taken_count: takenCount },
        'another run of an agent holds the hosts',
      );
      const [host, holder] = firstTaken(request, grants);
      const message = `run ${request.agentRun} of ${request.serviceHost} asks for ${takenCount} of the hosts that ${holder} holds`;
      await publishRefusal(
        deps,
        host,
        { reason: 'host_taken', message, reporter: reporterOf(sender, host) },
        clock.now(),
      );
    } else log.debug({ event: 'hosts_acquired', ...fields }, 'an agent holds its hosts');
    return { grants, atMs };
  }
}

function firstTaken({ hosts }: AcquireHostsRequest, grants: readonly HostGrant[]): [host: string, holder: string] {
  const n = grants.findIndex(({ epoch }) => epoch === 0);
  const { holderRun = '', holderServiceHost = '' } = grants[n] ?? {};
  return [hosts[n] ?? '', `run ${holderRun} of ${holderServiceHost}`];
}

interface TakeDeps extends ReportDeps {
  readonly lossUpTo: () => Promise<number>;
  readonly reported: SenderLog;
  readonly heard: ReportsHeard;
}

async function takeReport(
  deps: TakeDeps,
  metrics: SchedulerMetrics,
  reported: UpdateResourceStatsRequest,
  sender: Identity,
) {
  const { stats, refused } = boundNames(reported);
  const { mirror, placement, clock, config } = deps;
  const nowMs = clock.now();
  const reporter = reporterOf(sender, stats.host);
  let isReporter = speaksForHost(sender, stats.host);
  try {
    if (isPoolAgent(sender)) {
      await requireHolder(sender, stats, placement);
      isReporter = true;
    }
    validateStats(stats, sender, config.maxReportedInstances);
    requireSharingGranted(stats, sender, config.reportGrants);
    const hearing = await hearingOf(stats, mirror, placement, { upToMs: await deps.lossUpTo(), nowMs });
    // By what the mirror shows before the report is applied: it says whether the host was down, and who held it.
    const difference = await findDifference(stats, {
      view: mirror,
      placement,
      nowMs,
      graceMs: config.discrepancyGraceMs,
      saidAfterMs: hearing.saidAfterMs,
    });
    const unclaimed = difference?.unclaimed ?? [];
    const { reportGrants } = config;
    const applied = await updateResourceStats(stats, {
      placement,
      mirror,
      nowMs,
      unclaimed,
      reportGrants,
      reporter,
    });
    const response = { ...applied, wantsAllocationRequests: applied.wantsAllocationRequests || hearing.isOwed };
    metrics.stats.inc({ outcome: 'accepted' });
    if (hasBuiltSince(stats, mirror)) await clearFailures(deps, stats.host, nowMs);
    if (refused) {
      const { reason, message } = refused;
      await publishRefusal(deps, stats.host, { reason, message, reporter }, nowMs);
    }
    if (difference) await publishDifference({ ...deps, metrics }, stats, { ...difference, reporter }, nowMs);
    return response;
  } catch (thrown) {
    const error = BerthError.from(thrown);
    metrics.stats.inc({ outcome: error.reason });
    await noteRefused(deps, error, { host: stats.host, sender, reporter, isReporter });
    throw error;
  }
}

interface RefusedReport {
  readonly host: string;
  readonly sender: Identity;
  readonly reporter: string;
  /** True when the sender may report for the host. */
  readonly isReporter: boolean;
}

/** Tells operators of a refused report. */
async function noteRefused(
  deps: TakeDeps,
  error: BerthError,
  { host, sender, reporter, isReporter }: RefusedReport,
): Promise<void> {
  const nowMs = deps.clock.now();
  if (error.code === 'unavailable') deps.heard.lastRefusalMs = deps.clock.elapsed();
  deps.reported.warn(
    nameOf(sender),
    {
      event: 'host_report_refused',
      code: error.code,
      reason: error.reason,
      ...error.details,
    },
    `host report refused: ${error.message}`,
  );
  if (isForOperators(error) && isReporter) {
    const { reason, message } = error;
    await publishRefusal(deps, host, { reason, message, reporter }, nowMs);
    await recordRefusal(deps, { host, reason: `report refused: ${reason}: ${message}` }, nowMs);
  }
}

/** The reporter of a host: the agent, by its name at the broker, or the host itself where a service reports for it. */
function reporterOf(sender: Identity, host: string): string {
  return sender.kind === 'agent' ? sender.host : host;
}

/** True if a report is refused again and again until an operator acts. */
function isForOperators({ code, reason }: BerthError): boolean {
  return code === 'invalid_argument' || FOR_OPERATORS.includes(reason);
}

const FOR_OPERATORS: readonly string[] = [
  'name_taken',
  'provider_taken',
  'provider_not_yours',
  'sharing_not_granted',
  'too_many_names',
];
