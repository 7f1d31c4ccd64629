import { invalidArgument } from '#libs/domain/errors';
import { RpcServer } from '#libs/oslo/rpc-server';
import { RootColumns } from '#libs/placement/index/root-columns';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { decisionKeeper } from '#libs/placement/past-decisions/keep-decisions';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { KeptCandidates } from '#libs/placement/search/kept-candidates';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import { fanoutCalls } from './calls/fanouts';
import { selectDestinationsCall } from './calls/select-destinations';
import { HardwareOverlay } from './decision/hardware-overlay';
import { KnownHosts } from './decision/known-hosts';
import { UsageOverlay } from './decision/usage-overlay';
import { AwaitedClaims } from './elsewhere/awaited-claims';
import type { PlacementClient } from './elsewhere/placement-client';
import { followStatus } from './facts/follow-status';
import { keepFacts } from './facts/keep-facts';
import { type FactKind, type FactSources, NovaFacts } from './facts/nova-facts';
import { DATABASE_FILTERS } from './filters/registry';
import { type NovaRecorder, recordNovaInto } from './flight/recorder';
import { novaMetrics } from './metrics';
import type { NovaConfig } from './options';
import { idleWeighers, selectSettings } from './settings';
import { ReportKeeper } from './shadow/keep-report';
import { shadowCall } from './shadow/shadow-call';
import { WEIGHERS } from './weighers/registry';

export interface NovaSchedulerDeps extends RuntimeDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly source: FactSources;
  readonly config: NovaConfig;
  /** OpenStack's Placement, where claims go there. */
  readonly client?: PlacementClient | undefined;
}

export interface RunningNovaScheduler extends Running {
  /** Reads all facts again, as a stock scheduler does on SIGHUP. */
  refresh(): Promise<void>;
}

/** The version of Nova's scheduler API, which has not changed since Queens. */
const API_VERSION = '4.5';

/**
 * Serves Nova's scheduler API. Calls are taken once facts were read for the first time; until then they wait in their queue, or another
 * scheduler of the topic takes them. The caller closes store, mirror and source, after this.
 */
export async function startNovaScheduler(deps: NovaSchedulerDeps): Promise<RunningNovaScheduler> {
  const { config, mirror, log } = deps;
  const facts = new NovaFacts(deps.clock);
  const kept = keepFacts(facts, deps.source, pollSettings(config), deps);
  const refresh = async () => {
    await Promise.all((['services', 'nodes', 'aggregates'] as const).map((kind) => kept.refresh(kind)));
  };
  const stopFollowing = followStatus(mirror, facts);
  const closing = new AbortController();
  const knownHosts = new KnownHosts(mirror, facts);
  const aids = { columns: new RootColumns(mirror), kept: new KeptCandidates(mirror) };
  const decisions = decisionKeeper(deps.placement, config.keptDecisions, deps);
  const inFlight = new UsageOverlay();
  const { client } = deps;
  const hardware = new HardwareOverlay(deps.clock);
  const recorder = await recorderFor(config, { ...deps, facts, hardware });
  const awaited = new AwaitedClaims(mirror, inFlight, deps.clock);
  const calls = {
    ...deps,
    elsewhere: client && { client, awaited },
    decisions,
    facts,
    aids,
    knownHosts,
    refresh: (kind: FactKind) => kept.refresh(kind),
    inFlight,
    hardware,
    recorder,
    settings: selectSettings(config),
    measured: novaMetrics(deps.metrics, facts),
  };
  const report = config.shadow ? new ReportKeeper(deps.clock, deps.metrics, config.shadowKept) : undefined;
  const select = report ? shadowCall({ ...calls, report }, closing.signal) : selectDestinationsCall(calls);
  const methods = { select_destinations: select, ...fanoutCalls(facts) };
  const server = new RpcServer(serverSettings(deps, refresh), { version: API_VERSION, methods }, deps);
  warnOfAbsent(deps);
  let isClosing = false;
  const opened = kept.complete.then(async () => {
    if (isClosing) return;
    log.info({ event: 'nova_facts_read', nodes: facts.nodeCount }, "Nova's facts read, serving its calls");
    await server.open();
  });
  return {
    refresh,
    documents: report && { '/shadow': () => report.report() },
    readiness() {
      if (facts.ageMs('nodes') === undefined) return { ready: false, reason: 'nova: its API was not read yet' };
      const ofMirror = mirror.readiness();
      return ofMirror.ready ? server.readiness() : ofMirror;
    },
    async close() {
      isClosing = true;
      closing.abort();
      stopFollowing();
      await kept.close();
      if (facts.ageMs('nodes') !== undefined) await opened;
      await server.close();
      await recorder?.close();
      awaited.close();
      await decisions.flush();
      aids.columns.close();
      aids.kept.close();
      knownHosts.close();
    },
  };
}

/** The recorder that the settings ask for; where claims go elsewhere, what they wait for is not in the rows. */
async function recorderFor(
  config: NovaConfig,
  deps: Parameters<typeof recordNovaInto>[1],
): Promise<NovaRecorder | undefined> {
  if (config.recordFolder === '') return undefined;
  if (config.placementUrl === '') return recordNovaInto(config, deps);
  const event = 'nova_not_recorded';
  deps.log.warn({ event }, 'decisions are not recorded: BERTH_NOVA_PLACEMENT_URL has claims go elsewhere');
  return undefined;
}

function pollSettings(config: NovaConfig) {
  const intervalMs = {
    services: config.servicesIntervalMs,
    nodes: config.nodesIntervalMs,
    aggregates: config.aggregatesIntervalMs,
    instances: config.instancesIntervalMs,
    cells: config.nodesIntervalMs,
    hardware: config.hardwareIntervalMs,
    images: config.hardwareIntervalMs,
  };
  return { intervalMs, timeoutMs: config.apiTimeoutMs };
}

function serverSettings({ config }: NovaSchedulerDeps, refresh: () => Promise<void>) {
  if (config.transportUrl === '')
    throw invalidArgument('missing_setting', "set BERTH_NOVA_TRANSPORT_URL to the transport_url of Nova's services");
  const { exchange, topic, queues: queueKind, prefetch, maxMessageBytes, reconnectDelayMs } = config;
  return {
    url: config.transportUrl.replace(/^rabbit:/, 'amqp:'),
    target: { exchange, topic, host: config.host, queueKind, mode: config.shadow ? 'listen' : 'serve' } as const,
    processName: `berth nova-scheduler ${config.host}`,
    prefetch,
    maxBodyBytes: maxMessageBytes,
    reconnectDelayMs,
    // Fanouts of the time without a connection are lost.
    onConsuming: () => void refresh(),
  };
}

/** Names at start what requests will be handed over or refused for, and what no request will be weighed by. */
function warnOfAbsent({ config, log }: NovaSchedulerDeps): void {
  if (config.databaseUrl !== '') return;
  const weighers = idleWeighers(config).map((name) => WEIGHERS[name].name);
  const fields = { event: 'nova_weighers_missing', weighers };
  if (weighers.length > 0)
    log.info(fields, `hosts are not weighed by ${weighers.join(' and ')}: BERTH_NOVA_DATABASE_URL is not set`);
  const named = DATABASE_FILTERS.filter((name) => config.filters.includes(name));
  if (named.length === 0) return;
  const to = config.fallbackTopic === '' ? 'refused' : `handed over to ${config.fallbackTopic}`;
  log.warn(
    { event: 'nova_filters_missing', filters: named },
    `requests that need ${named.join(' or ')} are ${to}: BERTH_NOVA_DATABASE_URL is not set`,
  );
}
