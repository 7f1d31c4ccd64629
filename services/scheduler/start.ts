import type { Bus } from '#libs/bus/port';
import { answer, castTyped } from '#libs/bus/typed-calls';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { explainMethod } from '#libs/contracts/diagnosis';
import { listHostsMethod, setHostEnabledMethod } from '#libs/contracts/hosts';
import { type Identity, nameOf, requireProject, requireService } from '#libs/contracts/identity';
import type { SelectDestinationsRequest, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { BUILD_RESULTS, RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { sealer } from '#libs/placement/sealed/allocation-request';
import type { Running, Surroundings } from '#libs/runtime/service';
import { explain } from './decision/explain';
import { type Caller, type SelectDeps, selectDestinations } from './decision/select-destinations';
import { Fleet } from './fleet/fleet';
import { type SchedulerMetrics, schedulerMetrics } from './metrics';
import type { SchedulerConfig } from './options';
import { KeptRanks } from './ranking/ranked-hosts';
import { Discrepancies } from './reports/discrepancies';
import { listHosts } from './reports/list-hosts';
import { setHostEnabled } from './reports/set-host-enabled';
import { sweepHosts } from './reports/sweep';
import { updateResourceStats } from './reports/update-resource-stats';
import { specClassifier } from './request/equivalence-class';
import { selectSettings } from './settings';

export interface SchedulerDeps extends Surroundings {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly config: SchedulerConfig;
}

/**
 * Starts a scheduler: serves `rpc.scheduler` and `stats`, and marks silent hosts as down. Any number may run on one cell.
 * It has no state worth saving. The caller closes bus, store and mirror after it.
 */
export async function startScheduler(deps: SchedulerDeps): Promise<Running> {
  const { bus, placement, mirror, config, clock } = deps;
  const fleet = new Fleet(mirror, config);
  // The first snapshot of a large fleet takes a second, which no request should wait for.
  fleet.snapshot(clock.now());
  const settings = selectSettings(config);
  const ranks = new KeptRanks(settings, config.rankedHosts);
  const scheduler = new Scheduler(
    deps,
    { placement, mirror, fleet, rankHosts: ranks.rank, settings, clock, sealer: sealer(config.claimKey) },
    schedulerMetrics(deps.metrics, fleet, ranks, mirror),
  );
  const closing = new AbortController();
  const isListening = () => bus.isConnected() && mirror.readiness().ready;
  const sweeping = sweepHosts({ ...deps, hostTimeoutMs: config.hostTimeoutMs, isListening }, closing.signal);
  const options = { prefetch: config.prefetch };
  const calls = await bus.serve(RPC_SCHEDULER, scheduler.calls(), options);
  const reports = await bus.serve(STATS, scheduler.reports(), options);
  return {
    readiness: () => (bus.isConnected() ? mirror.readiness() : { ready: false, reason: 'bus: not connected' }),
    async close() {
      closing.abort();
      await Promise.all([calls.cancel(), reports.cancel(), sweeping]);
      fleet.close();
    },
  };
}

/** The handlers of a scheduler: each call logged and counted. */
class Scheduler {
  private readonly discrepancies: Discrepancies;
  private readonly classify = specClassifier();

  constructor(
    private readonly deps: SchedulerDeps,
    private readonly select: SelectDeps,
    private readonly metrics: SchedulerMetrics,
  ) {
    const { mirror: view, placement, clock, config } = deps;
    this.discrepancies = new Discrepancies({ view, placement, clock, graceMs: config.discrepancyGraceMs });
  }

  calls() {
    const { fleet, clock } = this.select;
    return {
      ...answer(selectDestinationsMethod, (request, caller) => {
        requireService(caller.identity, selectDestinationsMethod.request.type);
        return this.selectDestinations(request, caller);
      }),
      ...answer(explainMethod, async (request, { identity }) => {
        this.requireReady();
        const { requestSpec, host, limit } = request;
        const classified = this.classify(requestSpec);
        requireProject(identity, classified.spec.projectId);
        return explain({ ...classified, host, limit }, clock.now(), this.select);
      }),
      ...answer(listHostsMethod, async (request, { identity }) => {
        requireService(identity, listHostsMethod.request.type);
        this.requireReady();
        return listHosts(request, fleet, clock.now());
      }),
      ...answer(setHostEnabledMethod, (request, { identity }) => {
        requireService(identity, setHostEnabledMethod.request.type);
        return setHostEnabled(request, { ...this.select, mirror: this.deps.mirror, nowMs: clock.now() });
      }),
    };
  }

  reports() {
    return answer(updateResourceStatsMethod, (stats, { identity }) => this.updateResourceStats(stats, identity));
  }

  private async selectDestinations(request: SelectDestinationsRequest, caller: Caller) {
    const { log } = this.deps;
    const subject = () => ({ request_id: request.requestId, instances: request.instanceUuids.length });
    const startedAtMs = this.deps.clock.elapsed();
    let outcome = 'error';
    try {
      this.requireReady();
      const { requestSpec, ...rest } = request;
      const asked = { ...rest, ...this.classify(requestSpec) };
      const { response, conflicts } = await selectDestinations(asked, caller, this.select);
      this.metrics.conflicts.inc(conflicts);
      outcome = response.noValidHost ? 'no_valid_host' : 'selected';
      if (response.noValidHost) {
        const { summary } = response.noValidHost;
        log.info({ event: 'no_valid_host', ...subject(), conflicts }, `no valid host: ${summary}`);
      } else if (log.isLevelEnabled('debug')) {
        const hosts = response.destinations.slice(0, 10).map(({ selected }) => selected.host);
        log.debug({ event: 'destinations_selected', ...subject(), hosts, conflicts }, 'destinations selected');
      }
      return response;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      const { code, reason } = error;
      log.warn({ event: 'select_failed', ...subject(), code, reason }, `select destinations failed: ${error.message}`);
      throw error;
    } finally {
      this.metrics.instances.inc({ outcome }, request.instanceUuids.length);
      this.metrics.selectSeconds.observe({ outcome }, (this.deps.clock.elapsed() - startedAtMs) / 1000);
    }
  }

  private async updateResourceStats(stats: UpdateResourceStatsRequest, sender: Identity) {
    const { clock, config, log } = this.deps;
    try {
      const limits = { nowMs: clock.now(), maxInstances: config.maxReportedInstances };
      const response = await updateResourceStats(stats, sender, { ...this.deps, ...limits });
      this.metrics.stats.inc({ outcome: 'accepted' });
      await this.sendDiscrepancy(stats);
      return response;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      this.metrics.stats.inc({ outcome: error.reason });
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
  private async sendDiscrepancy(stats: UpdateResourceStatsRequest): Promise<void> {
    const { bus, log } = this.deps;
    try {
      const found = await this.discrepancies.find(stats);
      if (!found) return;
      const { host, unclaimed, missing } = found;
      this.metrics.discrepancies.inc({ kind: 'unclaimed' }, unclaimed.length);
      this.metrics.discrepancies.inc({ kind: 'missing' }, missing.length);
      const counts = { unclaimed: unclaimed.length, missing: missing.length };
      log.warn({ event: 'host_discrepancy', host, ...counts }, 'host report and store disagree');
      await castTyped(bus, BUILD_RESULTS, hostDiscrepancyCodec, found);
    } catch (thrown) {
      const error = BerthError.from(thrown);
      const fields = { event: 'discrepancy_not_sent', host: stats.host, reason: error.reason };
      log.warn(fields, `host discrepancy not sent to conductors: ${error.message}`);
    }
  }

  private requireReady(): void {
    const readiness = this.deps.mirror.readiness();
    if (!readiness.ready) throw new BerthError('unavailable', 'mirror_not_ready', readiness.reason);
  }
}
