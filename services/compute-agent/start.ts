import { setMaxListeners } from 'node:events';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { endsWithin } from '#libs/runtime/ends-within';
import type { Running } from '#libs/runtime/service';
import type { AgentRun, CarryingRun, ComputeAgentParts, Hosting } from './agent-run';
import { carriedHosts, type ManagedHost } from './carried-hosts';
import { type Acquirer, acquireHosts } from './holding/acquire-hosts';
import { noFormerRun } from './holding/former-run';
import type { HostLease, LossReason } from './holding/host-lease';
import { hostNames } from './host/host-facts';
import { agentMetrics } from './metrics';
import { OrderQueue } from './orders/order-queue';
import { OwnHosts } from './own-hosts';
import { shareNodes } from './pool/shared-nodes';
import { PoolHosts } from './pool-hosts';
import { LostReports } from './reports/report-lost';
import { createReporter, type Reporter } from './reports/reporter';

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
  const draining = new AbortController();
  const { signal: drainEnd } = draining;
  // Each host and each retry adds a listener.
  setMaxListeners(0, drainEnd);
  const counters = agentMetrics(parts.metrics, clock);
  const run: AgentRun = { ...parts, counters, agentRun: random.uuid(), drainEnd, lostReports: new LostReports() };
  const reporter = createReporter(run);
  const giveUp = (one: ManagedHost) => void pool?.giveUp([one]).then(() => acquirer.askSoon());
  const shared = nodes && shareNodes({ ...run, nodes, giveUp });
  const onLost = whenLost(run, {
    hosts: () => byLease,
    stopWork: (one, reason) => hosting.lose(one, reason),
    askSoon: () => acquirer.askSoon(),
  });
  const carried = await carriedHosts(parts, onLost, shared?.names ?? hostNames(config), shared?.isOthers);
  const byLease = new Map<HostLease, ManagedHost>(carried.map((one) => [one.lease, one]));
  counters.hosts.set(carried.length);
  await bus.declare(BUILD_RESULTS);
  const orders = new OrderQueue(run, carried);
  const all: CarryingRun = { ...run, carried, orders };
  const pool = shared && new PoolHosts(all, shared, reporter);
  const hosting: Hosting = pool ?? new OwnHosts(all, reporter);

  async function onGranted(leases: readonly HostLease[]): Promise<void> {
    await formerRun.remember(run.agentRun).catch((error: unknown) => {
      log.warn(
        { event: 'run_not_remembered', error },
        'run id not stored: after a crash the next run waits for the lease',
      );
    });
    // The queue exists before the first report, so that orders for a known host arrive.
    await orders.declare();
    await hosting.open(leases.map((lease) => byLease.get(lease)).filter((one) => one !== undefined));
  }

  const acquirer: Acquirer = acquireHosts({
    ...run,
    formerRun: formerRun.id ?? '',
    leases: carried.map(({ lease }) => lease),
    ...(shared && { isWanted: shared.isWanted }),
    onGranted,
  });
  hosting.begin(acquirer);
  await endsWithin(hosting.begun, config.reportTimeoutMs, clock);
  const close = () => closeAgent(all, { draining, hosting, acquirer, reporter });
  if (hosting.failure !== undefined) {
    await close();
    throw hosting.failure;
  }
  log.info({ event: 'agent_started', hosts: carried.length, driver: config.driver }, 'compute agent started');
  return {
    readiness() {
      const { failure } = hosting;
      if (failure !== undefined) return { ready: false, reason: `a host could not be opened: ${failure.message}` };
      const ofBus = bus.readiness();
      if (!ofBus.ready) return ofBus;
      const reason = hosting.whyNotReady();
      return reason === undefined ? { ready: true } : { ready: false, reason };
    },
    close,
  };
}

interface LossTargets {
  readonly hosts: () => ReadonlyMap<HostLease, ManagedHost>;
  readonly stopWork: (one: ManagedHost, reason: LossReason) => void;
  /** Requests lost hosts again. */
  readonly askSoon: () => void;
}

/** Stops the work on a lost host, and requests it again. A store that does not know one hold has lost the others, too, and their instances. */
function whenLost({ counters, log }: AgentRun, { hosts, stopWork, askSoon }: LossTargets) {
  let isStoreNew = false;
  return (lease: HostLease, reason: LossReason): void => {
    const fields = { event: reason, host: lease.host, epoch: lease.epoch };
    const one = hosts().get(lease);
    if (one) stopWork(one, reason);
    if (reason === 'epoch_superseded') {
      counters.superseded.inc();
      log.error(fields, 'another agent has taken over this host: orders are refused, instances keep running');
    } else if (!isStoreNew) {
      log.warn(fields, 'the store does not know who holds this host: asking for all of them again');
      isStoreNew = true;
      for (const other of hosts().keys()) other.lose(reason);
      isStoreNew = false;
    } else return;
    askSoon();
  };
}

interface Closing {
  readonly draining: AbortController;
  readonly hosting: Hosting;
  readonly acquirer: Acquirer;
  readonly reporter: Reporter;
}

/** Drains, reports once more, and releases the hosts, so that the next run need not wait. */
async function closeAgent(run: CarryingRun, { draining, hosting, acquirer, reporter }: Closing): Promise<void> {
  const { config, clock, carried, orders, lostReports } = run;
  acquirer.stop();
  hosting.stop();
  reporter.stop();
  const cancelTimeout = clock.after(config.drainTimeoutMs, () => draining.abort());
  for (const { host } of carried) host?.builds.drain();
  await orders.cancel();
  cancelTimeout();
  draining.abort();
  await lostReports.settled();
  const goodbye = async () => {
    await reporter.reportAll();
    await hosting.leave();
    await acquirer.release(carried.filter(({ lease }) => lease.isHeld).map(({ lease }) => lease.host));
  };
  const said = goodbye();
  if (await endsWithin(said, config.reportTimeoutMs, clock)) await said;
  await Promise.all(carried.map(async ({ host }) => host?.driver.close()));
}
