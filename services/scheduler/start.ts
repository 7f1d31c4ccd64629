import type { Bus } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { describeCellMethod } from '#libs/contracts/cell-methods';
import { explainInstanceMethod, explainMethod } from '#libs/contracts/diagnosis';
import {
  clearHostFailuresMethod,
  listHostsMethod,
  listOverAllocatedMethod,
  setDeviceTaintMethod,
  setHostEnabledMethod,
} from '#libs/contracts/hosts';
import { requireProject, requireService } from '#libs/contracts/identity';
import type { ClaimMovesRequest } from '#libs/contracts/moves';
import { claimMovesMethod } from '#libs/contracts/moves';
import { RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type SelectDestinationsRequest, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { quotaCalls } from '#libs/fleet-settings/quota-calls';
import { groupCalls } from '#libs/fleet-settings/serve-groups';
import { keepProjectsSettled } from '#libs/fleet-settings/settle-projects';
import type { InstanceStore } from '#libs/instances/store';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { type DecisionKeeper, decisionKeeper } from '#libs/placement/past-decisions/keep-decisions';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { sealer } from '#libs/placement/sealed/allocation-request';
import { firstUnready, type Running, type RuntimeDeps } from '#libs/runtime/service';
import { hostAsker } from './confirmation/ask-hosts';
import { confirmer } from './confirmation/confirm';
import { answerCalls } from './confirmation/take-answer';
import { alternateHolder } from './decision/alternates/hold-alternates';
import { notHeldNoter } from './decision/alternates/not-held';
import { sweepLeases } from './decision/alternates/sweep-leases';
import { catchUp } from './decision/claim';
import { explain } from './decision/explain/explain';
import { shownTo } from './decision/explain/shown-to';
import { claimMoves } from './decision/moves/claim-moves';
import { nominator } from './decision/preemption/nominate';
import { referrer } from './decision/refer';
import { type Caller, type SelectDeps, selectDestinations } from './decision/select-destinations';
import { Pricing } from './demand/pricing';
import { Fleet } from './fleet/fleet';
import { recordInto } from './flight/recorder';
import { aggregateCalls } from './grouping/serve-aggregates';
import { zoneCalls } from './grouping/serve-zones';
import { turnsToAdmit } from './guarantee/admission-turns';
import { type FollowDeps, followGuarantees } from './guarantee/follow-guarantees';
import { GuaranteeKeeper } from './guarantee/guarantee-keeper';
import { measuredGuarantees } from './guarantee/guarantee-metrics';
import { guaranteeCalls } from './guarantee/serve-guarantees';
import { type SchedulerMetrics, schedulerMetrics } from './metrics';
import { nodeCalls, poolCalls } from './nodes/pool-calls';
import type { SchedulerConfig } from './options';
import { explainInstance } from './past-decisions/explain-instance';
import { keepUsesSampled } from './quotas/sample-uses';
import { type ServedShares, servedShares, shareCalls, shareOf } from './quotas/serve-shares';
import { KeptRanks } from './ranking/ranked-hosts';
import { weighsByPrices } from './ranking/weighing';
import { changeHost, taintDevice } from './reports/change-host';
import { listHosts } from './reports/list-hosts';
import { listOverAllocated } from './reports/list-over-allocated';
import { sweepHosts } from './reports/sweep';
import { reportCalls } from './reports/take-reports';
import { specClassifier } from './request/equivalence-class';
import { type KeepDeps, keepReservations } from './reservation/keep-reservations';
import { measureReservations } from './reservation/reservation-metrics';
import { reservationCalls } from './reservation/serve-reservations';
import { type SelectSettings, selectSettings } from './settings';
import { type CellSummaries, cellSummaries } from './summary/cell-summaries';
import { summarySender } from './summary/send-summaries';

export interface SchedulerDeps extends RuntimeDeps {
  readonly bus: Bus;
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  /** The records of instances, read for guarantees; without them only instances that this scheduler places are guaranteed. */
  readonly instances?: Pick<InstanceStore, 'get'>;
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
  const pricing = new Pricing(weighsByPrices(settings));
  const ranks = new KeptRanks(settings, pricing, config.rankedHosts);
  const metrics = schedulerMetrics(deps.metrics, { fleet, ranks, mirror, clock });
  measureReservations(deps.metrics, mirror);
  const notHeld = notHeldNoter(deps.log, metrics.notHeld);
  const decisions = decisionKeeper(placement, config.keptDecisions, deps);
  const summaries = cellSummaries(fleet, clock, config.summaryIntervalMs);
  const closing = new AbortController();
  const recorder = config.recordFolder === '' ? undefined : await recordInto(config, { ...deps, fleet, pricing });
  const { follow, ...guaranteed } = guaranteeParts(deps, fleet, settings);
  const select: SelectDeps = {
    recorder,
    ...guaranteed,
    keepDecision: (decision) => decisions.keep(decision),
    keepsSelected: decisions.hasRoom,
    placement,
    mirror,
    fleet,
    pricing,
    rankHosts: ranks.rank,
    settings,
    clock,
    sealer: sealerOf(deps),
    refer: referrer(deps),
    holdAlternates: alternateHolder({ ...deps, notHeld }),
    nominate: nominator({ ...deps, notHeld }),
    confirm: confirmer({ ...deps, metrics, ask: hostAsker(deps) }),
  };
  const onListener = summarySender({ ...deps, summaries }, closing.signal);
  const sharing = { ...deps, halfLifeMs: config.fairShareHalfLifeMs };
  const shares = servedShares(sharing);
  const scheduler = new Scheduler({ deps, select, follow, metrics, summaries, onListener, decisions, shares });
  const heard = { lastRefusalMs: clock.elapsed() };
  const sweeping = sweepHosts({ ...deps, hostTimeoutMs: config.hostTimeoutMs, heard }, closing.signal);
  const settling = Promise.all([keepProjectsSettled(deps, closing.signal), keepUsesSampled(sharing, closing.signal)]);
  const ending = sweepLeases(deps, closing.signal);
  const looking = followGuarantees(follow, closing.signal);
  const keeping = keepReservations(scheduler.keeping(), closing.signal);
  const grouping = { placement, mirror, clock, catchUp: () => catchUp({ placement, mirror }, closing) };
  const all = {
    ...scheduler.calls(),
    ...aggregateCalls(grouping),
    ...zoneCalls(mirror),
    ...groupCalls(grouping),
    ...nodeCalls(deps),
    ...shareCalls(shares, () => scheduler.requireReady()),
    ...guaranteeCalls({ ...follow, ...grouping, select }, () => scheduler.requireReady()),
    ...reservationCalls({ ...scheduler.keeping(), ...grouping }, () => scheduler.requireReady()),
  };
  const calls = await bus.serve(RPC_SCHEDULER, all, { prefetch: config.prefetch });
  const ofAgents = { ...reportCalls(deps, metrics, heard), ...poolCalls(deps), ...answerCalls(deps) };
  const reports = await bus.serve(STATS, ofAgents, { prefetch: Math.min(config.prefetch, MAX_REPORTS_IN_HAND) });
  return {
    readiness: () => firstUnready(bus.readiness(), mirror.readiness()),
    async close() {
      closing.abort();
      await Promise.all([calls.cancel(), reports.cancel(), sweeping, settling, ending, looking, keeping]);
      await decisions.flush();
      await recorder?.close();
      select.guarantees.close();
      fleet.close();
    },
  };
}

function sealerOf({ config, clock, mirror }: SchedulerDeps) {
  return sealer(config.claimKey, () => {
    const sealedAtMs = clock.now();
    return { sealedAtMs, storeRevision: mirror.revision, expiresAtMs: sealedAtMs + config.claimTtlMs };
  });
}

/** Guarantees of decisions, and dependencies of following them. */
function guaranteeParts(deps: SchedulerDeps, fleet: Fleet, settings: SelectSettings) {
  const guarantees = new GuaranteeKeeper(fleet, settings);
  const follow = { ...deps, fleet, guarantees, instances: deps.instances ?? NO_RECORDS, classify: specClassifier() };
  const takeTurn = turnsToAdmit({ ...follow, holdMs: deps.config.guaranteeTurnMs });
  return { ...measuredGuarantees(deps, guarantees), takeTurn, follow };
}

const NO_RECORDS: Pick<InstanceStore, 'get'> = { get: async () => [] };

/** Each may have 4 MiB, and any agent may send as many as it likes. */
const MAX_REPORTS_IN_HAND = 64;

/** Longest wait until the mirror shows what a request must have seen. */
const CATCH_UP_MS = 3_000;

/** Dependencies of a scheduler's handlers. */
interface SchedulerParts {
  readonly deps: SchedulerDeps;
  readonly select: SelectDeps;
  readonly follow: FollowDeps;
  readonly metrics: SchedulerMetrics;
  readonly summaries: CellSummaries;
  /** The top says that it listens to summaries. */
  readonly onListener: () => void;
  readonly decisions: DecisionKeeper;
  readonly shares: ServedShares;
}

/** The handlers of a scheduler: each call logged and counted. */
class Scheduler {
  constructor(private readonly parts: SchedulerParts) {}

  calls() {
    const { fleet, clock } = this.parts.select;
    return {
      ...answer(selectDestinationsMethod, (request, caller) => {
        return this.selectDestinations(request, caller);
      }),
      ...answer(claimMovesMethod, (request, caller) => {
        return this.claimMoves(request, caller);
      }),
      ...answer(explainMethod, async (request, { identity }) => {
        this.requireReady();
        const { requestSpec, ...about } = request;
        if (about.mayDisplace || about.certificate) requireService(identity, explainMethod.request.type);
        const classified = this.parts.follow.classify(requestSpec);
        requireProject(identity, classified.spec.projectId);
        const fairShare = await shareOf(classified.spec.projectId, this.parts.shares);
        const explained = explain({ ...classified, ...about }, clock.now(), this.parts.select);
        return shownTo(identity, { ...explained, ...(fairShare ? { fairShare } : {}) }, this.parts.deps.mirror);
      }),
      ...answer(explainInstanceMethod, async ({ instanceUuid }, { identity }) => {
        await this.parts.decisions.flush();
        return explainInstance(instanceUuid, identity, this.parts.deps.placement);
      }),
      ...answer(listHostsMethod, async (request) => {
        this.requireReady();
        return listHosts(request, fleet, clock.now());
      }),
      ...answer(listOverAllocatedMethod, async () => {
        this.requireReady();
        return listOverAllocated(this.parts.deps.mirror);
      }),
      ...answer(describeCellMethod, async ({ knownDigest, listens }) => {
        this.requireReady();
        const summary = this.parts.summaries.newest();
        if (listens) this.parts.onListener();
        return { summary: summary.digest === knownDigest ? undefined : summary };
      }),
      ...quotaCalls(this.parts.deps, () => this.requireReady()),
      ...answer(setHostEnabledMethod, (request) => {
        return changeHost({ kind: 'set_host_enabled', ...request }, { ...this.parts.deps, fleet, nowMs: clock.now() });
      }),
      ...answer(setDeviceTaintMethod, (request) => {
        return taintDevice(request, { ...this.parts.deps, nowMs: clock.now() });
      }),
      ...answer(clearHostFailuresMethod, (request) => {
        return changeHost({ kind: 'clear_failures', ...request }, { ...this.parts.deps, fleet, nowMs: clock.now() });
      }),
    };
  }

  /** Dependencies of looking after reservations. */
  keeping(): KeepDeps {
    const { deps, select } = this.parts;
    return { ...deps, parts: { ...select, classify: this.parts.follow.classify } };
  }

  private async selectDestinations(request: SelectDestinationsRequest, caller: Caller) {
    const { log } = this.parts.deps;
    const subject = () => ({ request_id: request.requestId, instances: request.instanceUuids.length });
    const startedAtMs = this.parts.deps.clock.elapsed();
    let outcome = 'error';
    try {
      this.requireReady();
      const { mirror } = this.parts.deps;
      const { requestSpec, minRevision = 0, furtherKinds, ...rest } = request;
      // The caller's signal costs a timer, so it is asked for only where there is something to wait for.
      if (minRevision > mirror.revision) {
        await mirror.waitFor(minRevision, { timeoutMs: CATCH_UP_MS, signal: caller.signal });
      }
      const kinds = furtherKinds?.map((kind) => ({ ...kind, ...this.parts.follow.classify(kind.requestSpec) }));
      const asked = { ...rest, ...this.parts.follow.classify(requestSpec), ...(kinds ? { furtherKinds: kinds } : {}) };
      const { response, conflicts } = await selectDestinations(asked, caller, this.parts.select);
      this.parts.metrics.conflicts.inc(conflicts);
      outcome = response.destinations.length === 0 ? 'no_valid_host' : 'selected';
      this.parts.summaries.note(asked.spec, request.instanceUuids.length, outcome === 'selected');
      if (response.noValidHost) {
        const { summary } = response.noValidHost;
        const selected = response.destinations.length;
        log.info({ event: 'no_valid_host', ...subject(), selected, conflicts }, `no valid host: ${summary}`);
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
      if (caller.isAborted) outcome = 'timed_out';
      this.parts.metrics.instances.inc({ outcome }, request.instanceUuids.length);
      this.parts.metrics.selectSeconds.observe({ outcome }, (this.parts.deps.clock.elapsed() - startedAtMs) / 1000);
    }
  }

  private async claimMoves({ moves, dryRun }: ClaimMovesRequest, caller: Caller) {
    this.requireReady();
    const asked = moves.map(({ requestSpec, ...about }) => {
      return { ...about, ...this.parts.follow.classify(requestSpecCodec.encode(requestSpec)) };
    });
    return claimMoves(asked, dryRun, caller, this.parts.select);
  }

  requireReady(): void {
    const readiness = this.parts.deps.mirror.readiness();
    if (!readiness.ready) throw new BerthError('unavailable', 'mirror_not_ready', readiness.reason);
  }
}
