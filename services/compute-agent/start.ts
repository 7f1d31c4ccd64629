import { setMaxListeners } from 'node:events';
import limitConcurrency from 'p-limit';
import type { Bus } from '#libs/bus/port';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { Ring } from '#libs/ring/ring';
import { counted } from '#libs/runtime/counted';
import { endsWithin } from '#libs/runtime/ends-within';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import { carriedHosts, MAX_OPENING_HOSTS, type ManagedHost, openHost } from './carried-hosts';
import type { OpenDriver } from './drivers/driver';
import { acquireHosts } from './holding/acquire-hosts';
import { type FormerRun, noFormerRun } from './holding/former-run';
import type { HostLease, LossReason } from './holding/host-lease';
import { renewByConductors } from './holding/renew-by-conductors';
import { collectStats, type Host } from './host/host';
import { hostNames } from './host/host-facts';
import type { Journal } from './host/journal';
import { describeVolatile } from './host/stats';
import { agentMetrics } from './metrics';
import type { AgentConfig } from './options';
import { OrderQueue } from './orders/order-queue';
import { keepMembership } from './pool/membership';
import { readNodes } from './pool/node-store';
import type { PoolNodes } from './pool/open-node';
import { shareNodes } from './pool/shared-nodes';
import { LostReports } from './reports/report-lost';
import { createReporter } from './reports/reporter';
import { watchUsage } from './reports/watch-usage';

export interface ComputeAgentParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly driver: OpenDriver;
  /** The former run of this agent; default: unknown. */
  readonly formerRun?: FormerRun;
  /** Opens a host's journal; default: in the configured state folder, if there is one. */
  readonly journal?: (host: string) => Promise<Journal>;
  /** The nodes of the configured pool, which this agent shares with others; it then has no hosts of its own. */
  readonly nodes?: PoolNodes | undefined;
}

/**
 * A compute agent: a service host (Nova) of one host, itself, or of thousands, or a member of a pool that shares nodes.
 * Each host has its own driver, journal and reports; their orders come by the queue of the service host.
 *
 * A host has one live holder. This run first requests its hosts; it opens, recovers and reports the granted ones, and
 * takes their orders. Hosts of another run are left alone: that run may work on the same instances.
 *
 * From a pool it requests the nodes that the ring assigns to it, and gives up those assigned to others. When a node
 * changes hands, its next holder continues unfinished work.
 *
 * Resolves when each host has recovered its instances and sent a report, and orders are taken; after `reportTimeoutMs`
 * it resolves with the rest still in progress (`readiness` shows it).
 *
 * @throws BerthError `invalid_argument / bad_config`, `failed_precondition / state_dir`, `unavailable`; everything
 *   opened is closed again.
 */
export async function startComputeAgent(parts: ComputeAgentParts): Promise<Running> {
  const { bus, config, clock, log, random, formerRun = noFormerRun, nodes } = parts;
  const counters = agentMetrics(parts.metrics, parts.clock);
  const agentRun = random.uuid();
  const reporter = createReporter({ ...parts, counters, agentRun });
  const usage = watchUsage(clock, log, config.lookIntervalMs);
  const lostReports = new LostReports();
  const draining = new AbortController();
  const drainEnd = draining.signal;
  // Each host and each retry adds a listener.
  setMaxListeners(0, drainEnd);
  const giveUpAndAsk = (one: ManagedHost) => void giveUp([one]).then(() => acquirer.askSoon());
  const shared = nodes && shareNodes({ ...parts, nodes, counters, drainEnd, lostReports, giveUp: giveUpAndAsk });
  const carried = await carriedHosts(parts, onLost, shared?.names ?? hostNames(config), shared?.isOthers);
  const byLease = new Map<HostLease, ManagedHost>(carried.map((one) => [one.lease, one]));
  counters.hosts.set(carried.length);
  await bus.declare(BUILD_RESULTS);
  const orders = new OrderQueue({ ...parts, counters, drainEnd }, carried);
  const opening = limitConcurrency(MAX_OPENING_HOSTS);
  let failure: BerthError | undefined;
  let isStoreNew = false;
  let reportedCount = 0;
  let allReported = () => {};
  const begun = new Promise<void>((resolve) => {
    allReported = resolve;
  });

  async function open(one: ManagedHost): Promise<void> {
    one.host ??= await openHost(one, { ...parts, counters, drainEnd }, lostReports);
  }

  async function report(one: ManagedHost, host: Host): Promise<void> {
    if (one.reports) return one.reports.resume();
    const stats = (hasAllocationRequests: boolean) => collectStats(host, hasAllocationRequests);
    const disabled = await host.journal.loadDisabled();
    const remember = (next: typeof disabled) => host.journal.putDisabled(next);
    const reports = reporter.add(one.lease, stats, () => describeVolatile(host), { disabled, remember });
    one.reports = reports;
    host.reportSoon = () => reports.reportSoon();
    host.reportNow = () => reports.reportNow();
    if (!shared) usage.add(host);
    await reports.firstSent;
    reportedCount++;
  }

  async function onGranted(leases: readonly HostLease[]): Promise<void> {
    await formerRun.remember(agentRun).catch((error: unknown) => {
      log.warn({ event: 'run_not_remembered', error }, 'after a crash the next run has to wait for the lease');
    });
    // The queue exists before the first report, so that orders for a known host arrive.
    await orders.declare();
    const granted = leases.map((lease) => byLease.get(lease)).filter((one) => one !== undefined);
    if (shared) return onNodesGranted(granted);
    // All settle before the first failure is thrown: nothing opens after the cleanup.
    const results = await Promise.allSettled(granted.map((one) => opening(() => open(one))));
    for (const result of results) if (result.status === 'rejected') fail(result.reason);
    await Promise.all([orders.consume(), ...granted.map((one) => one.host && report(one, one.host))]);
    if (reportedCount === carried.length || failure !== undefined) allReported();
  }

  async function onNodesGranted(granted: readonly ManagedHost[]): Promise<void> {
    const known = await readNodes(
      { ...parts, drainEnd },
      granted.map(({ lease }) => lease.host),
    );
    const openOne = async (one: ManagedHost) => {
      try {
        await shared?.open(one, known.get(one.lease.host));
        if (one.host) await report(one, one.host);
      } catch (error) {
        log.warn({ event: 'node_not_opened', host: one.lease.host, error }, 'a node could not be opened, asking again');
        await giveUp([one]);
      }
    };
    await Promise.all([orders.consume(), ...granted.map((one) => opening(() => openOne(one)))]);
    allReported();
  }

  async function giveUp(given: readonly ManagedHost[]): Promise<void> {
    for (const one of given) {
      one.lease.giveUp();
      shared?.close(one);
    }
    await Promise.all(given.map(({ closed }) => closed));
    await acquirer.release(given.map(({ lease }) => lease.host));
  }

  function onRing(ring: Ring): void {
    if (!shared) return;
    shared.setRing(ring);
    // An agent without nodes still takes orders: their senders must learn that it does not have the node.
    if (!orders.isConsuming) void orders.declare().then(() => orders.consume());
    const given = shared.toGiveUp(carried);
    counters.nodesGivenUp.inc(given.length);
    if (given.length > 0) {
      log.info({ event: 'nodes_given_up', node_count: given.length }, 'gives nodes to other agents of the pool');
      void giveUp(given);
    }
    acquirer.askSoon();
  }

  function fail(thrown: unknown): void {
    failure ??= BerthError.from(thrown);
    log.error({ event: 'host_not_opened', error: thrown }, 'could not open a host that was granted');
  }

  function onLost(lease: HostLease, reason: LossReason): void {
    const fields = { event: reason, host: lease.host, epoch: lease.epoch };
    const one = byLease.get(lease);
    if (shared && one) shared.close(one);
    if (reason === 'epoch_superseded') {
      counters.superseded.inc();
      log.error(fields, 'another agent has taken over this host: orders are refused, instances keep running');
      one?.host?.builds.handBack();
      if (!shared && !carried.some((other) => other.lease.isHeld)) void orders.cancel();
    } else if (!isStoreNew) {
      log.warn(fields, 'the store does not know who holds this host: asking for all of them again');
      // The store has lost the other hosts too, and their instances.
      isStoreNew = true;
      for (const other of carried) other.lease.lose(reason);
      isStoreNew = false;
    } else return;
    acquirer.askSoon();
  }

  const acquirer = acquireHosts({
    ...parts,
    counters,
    agentRun,
    formerRun: formerRun.id ?? '',
    leases: carried.map(({ lease }) => lease),
    ...(shared && { isWanted: shared.isWanted }),
    onGranted,
  });
  // Schedulers alone assign a pool's nodes to its agents.
  const renewing = new AbortController();
  if (!shared)
    void renewByConductors({ ...parts, agentRun, leases: carried.map(({ lease }) => lease) }, renewing.signal);
  const membership = shared && keepMembership({ ...parts, agentRun, formerRun: formerRun.id ?? '', onRing });
  await endsWithin(begun, config.reportTimeoutMs, clock);
  const close = async () => {
    membership?.stop();
    acquirer.stop();
    renewing.abort();
    reporter.stop();
    usage.stop();
    const cancelTimeout = clock.after(config.drainTimeoutMs, () => draining.abort());
    for (const { host } of carried) host?.builds.drain();
    await orders.cancel();
    cancelTimeout();
    draining.abort();
    await lostReports.settled();
    const goodbye = async () => {
      await reporter.reportAll();
      // Work on nodes stops here before another agent continues it.
      for (const one of carried) shared?.close(one);
      await Promise.all(carried.map(({ closed }) => closed));
      await membership?.leave();
      await acquirer.release(carried.filter(({ lease }) => lease.isHeld).map(({ lease }) => lease.host));
    };
    const said = goodbye();
    if (await endsWithin(said, config.reportTimeoutMs, clock)) await said;
    await Promise.all(carried.map(async ({ host }) => host?.driver.close()));
  };
  if (failure !== undefined) {
    await close();
    throw failure;
  }
  log.info({ event: 'agent_started', hosts: carried.length, driver: config.driver }, 'compute agent started');
  return {
    readiness() {
      if (failure !== undefined) return { ready: false, reason: `a host could not be opened: ${failure.message}` };
      if (!bus.isConnected()) return { ready: false, reason: 'not connected to the broker' };
      // The nodes held do not matter: another agent of the pool may keep some for a while.
      if (membership)
        return membership.ring ? { ready: true } : { ready: false, reason: 'not a member of the pool yet' };
      const heldCount = carried.filter(({ lease }) => lease.isHeld).length;
      if (heldCount < carried.length)
        return { ready: false, reason: `${heldCount} of ${counted(carried.length, 'host')} held` };
      if (!orders.isConsuming) return { ready: false, reason: 'the order queue is not consumed yet' };
      if (reportedCount === carried.length) return { ready: true };
      return { ready: false, reason: `${reportedCount} of ${counted(carried.length, 'host')} reported` };
    },
    close,
  };
}
