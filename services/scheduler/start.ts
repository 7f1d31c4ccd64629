import type { Bus } from '#libs/bus/port';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { explainMethod } from '#libs/contracts/diagnosis';
import { listHostsMethod, setHostEnabledMethod } from '#libs/contracts/hosts';
import type { SelectDestinationsRequest, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { answer, castTyped } from '#libs/contracts/rpc';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { BUILD_RESULTS, RPC_SCHEDULER, STATS } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import { sealer } from '#libs/placement/allocation-request';
import type { Mirror } from '#libs/placement/mirror';
import type { PlacementStore } from '#libs/placement/store';
import type { Running, Surroundings } from '#libs/runtime/service';
import { Fleet } from './fleet/fleet';
import { listHosts } from './hosts/list-hosts';
import { setHostEnabled } from './hosts/set-host-enabled';
import { type SchedulerMetrics, schedulerMetrics } from './metrics';
import type { SchedulerConfig } from './options';
import { Rankings } from './ranking/rankings';
import { explain } from './select/explain';
import { type Caller, type SelectDeps, selectDestinations } from './select/select-destinations';
import { selectSettings } from './settings';
import { Discrepancies } from './stats/discrepancies';
import { sweepHosts } from './stats/sweep';
import { updateResourceStats } from './stats/update-resource-stats';

export interface SchedulerDeps extends Surroundings {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly config: SchedulerConfig;
}

/**
 * Starts a scheduler: answers `rpc.scheduler` and `stats`, and takes silent hosts as down. Any number may run on one cell.
 * It has no state worth saving. Bus, store and mirror are the caller's to close, after it.
 */
export async function startScheduler(deps: SchedulerDeps): Promise<Running> {
  const { bus, placement, mirror, config, clock } = deps;
  const fleet = new Fleet(mirror, config);
  fleet.refresh(clock.now());
  const settings = selectSettings(config);
  const rankings = new Rankings(fleet, settings, config.rankedHosts);
  const scheduler = new Scheduler(
    deps,
    { placement, mirror, fleet, rankings, settings, clock, sealer: sealer(config.claimKey) },
    schedulerMetrics(deps.metrics, fleet, rankings, mirror),
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

/** The handlers of a scheduler: what surrounds a decision, logged and counted. */
class Scheduler {
  private readonly discrepancies: Discrepancies;

  constructor(
    private readonly deps: SchedulerDeps,
    private readonly select: SelectDeps,
    private readonly metrics: SchedulerMetrics,
  ) {
    const { mirror: view, placement, clock, config } = deps;
    this.discrepancies = new Discrepancies({ view, placement, clock, graceMs: config.discrepancyGraceMs });
  }

  calls() {
    const { fleet } = this.select;
    return {
      ...answer(selectDestinationsMethod, (request, caller) => this.selectDestinations(request, caller)),
      ...answer(explainMethod, async (request) => {
        this.requireReady();
        return explain(request, this.select);
      }),
      ...answer(listHostsMethod, async (request) => {
        this.requireReady();
        return listHosts(request, fleet);
      }),
      ...answer(setHostEnabledMethod, (request) =>
        setHostEnabled(request, { ...this.select, mirror: this.deps.mirror, nowMs: this.deps.clock.now() }),
      ),
    };
  }

  reports() {
    return answer(updateResourceStatsMethod, (stats, { sender }) => this.updateResourceStats(stats, sender));
  }

  private async selectDestinations(request: SelectDestinationsRequest, caller: Caller) {
    const { log } = this.deps;
    const subject = () => ({ request_id: request.requestId, instances: request.instanceUuids.length });
    const startedAtMs = this.deps.clock.now();
    let outcome = 'error';
    try {
      this.requireReady();
      const { response, conflicts } = await selectDestinations(request, caller, this.select);
      this.metrics.conflicts.inc(conflicts);
      outcome = response.noValidHost ? 'no_valid_host' : 'selected';
      if (response.noValidHost) {
        const { summary } = response.noValidHost;
        log.info({ ...subject(), conflicts }, `no valid host: ${summary}`);
      } else if (log.isLevelEnabled('debug')) {
        const hosts = response.destinations.slice(0, 10).map(({ selected }) => selected.host);
        log.debug({ ...subject(), hosts, conflicts }, 'selected');
      }
      return response;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      log.warn({ ...subject(), code: error.code, reason: error.reason }, `could not select: ${error.message}`);
      throw error;
    } finally {
      this.metrics.instances.inc({ outcome }, request.instanceUuids.length);
      this.metrics.selectSeconds.observe({ outcome }, (this.deps.clock.now() - startedAtMs) / 1000);
    }
  }

  private async updateResourceStats(stats: UpdateResourceStatsRequest, sender: string) {
    const { clock, config, log } = this.deps;
    try {
      const limits = { nowMs: clock.now(), maxInstances: config.maxReportedInstances };
      const response = await updateResourceStats(stats, sender, { ...this.deps, ...limits });
      this.metrics.stats.inc({ outcome: 'accepted' });
      await this.tellDiscrepancies(stats);
      return response;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      this.metrics.stats.inc({ outcome: error.reason });
      log.warn(
        { sender, code: error.code, reason: error.reason, ...error.details },
        `report refused: ${error.message}`,
      );
      throw error;
    }
  }

  /** Failing to tell is no reason to refuse the report: the next one finds the same. */
  private async tellDiscrepancies(stats: UpdateResourceStatsRequest): Promise<void> {
    const { bus, log } = this.deps;
    try {
      const found = await this.discrepancies.find(stats);
      if (!found) return;
      const { host, unclaimed, missing } = found;
      this.metrics.discrepancies.inc({ kind: 'unclaimed' }, unclaimed.length);
      this.metrics.discrepancies.inc({ kind: 'missing' }, missing.length);
      log.warn({ host, unclaimed: unclaimed.length, missing: missing.length }, 'the host and the store disagree');
      await castTyped(bus, BUILD_RESULTS.name, hostDiscrepancyCodec, found, { isPackable: true });
    } catch (thrown) {
      const error = BerthError.from(thrown);
      log.warn({ host: stats.host, reason: error.reason }, `could not tell conductors of it: ${error.message}`);
    }
  }

  private requireReady(): void {
    const readiness = this.deps.mirror.readiness();
    if (!readiness.ready) throw new BerthError('unavailable', 'mirror_not_ready', readiness.reason);
    this.select.fleet.refresh(this.deps.clock.now());
  }
}
