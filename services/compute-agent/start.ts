import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import limitConcurrency from 'p-limit';
import type { Bus } from '#libs/bus/port';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import type { Running, Surroundings } from '#libs/runtime/service';
import type { Driver, HostIdentity, OpenDriver } from './drivers/driver';
import { collectStats, createHost, type Host } from './host/host';
import { hostFacts, hostNames } from './host/host-facts';
import { type Journal, noJournal, openJournal } from './host/journal';
import { recoverInstances } from './host/recover';
import { ioOpsOf } from './host/stats';
import { agentMetrics } from './metrics';
import type { AgentConfig } from './options';
import { OrderQueue } from './orders/order-queue';
import { LostReports } from './reports/report-lost';
import { createReporter } from './reports/reporter';

export interface ComputeAgentParts extends Surroundings {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly driver: OpenDriver;
  /** Where a host's instances are remembered; in the folder that the configuration names, if it names one, unless given. */
  readonly journal?: (host: string) => Promise<Journal>;
}

/** Hosts that are opened at once. */
const MAX_OPENING_HOSTS = 200;

/**
 * A compute agent: a service host (Nova) that carries one host, itself, or thousands. Each host has a driver, a journal
 * and reports of its own; orders for all of them come by the queue of the service host.
 *
 * Resolves when each host has recovered its instances and sent a report, and orders are taken; when reports are not
 * answered, after `reportTimeoutMs`, with the rest of that going on (`readiness` says how far it is).
 *
 * @throws BerthError `invalid_argument / bad_config`, `failed_precondition / state_dir`, `unavailable`; what was opened
 *   is closed.
 */
export async function startComputeAgent(parts: ComputeAgentParts): Promise<Running> {
  const { bus, config, clock, log } = parts;
  const counters = agentMetrics(parts.metrics);
  const reporter = createReporter(bus, config, counters, parts);
  const lostReports = new LostReports();
  const draining = new AbortController();
  const drainEnd = draining.signal;
  // Each host and each retry listens.
  setMaxListeners(0, drainEnd);
  const drivers: Driver[] = [];
  const closeDrivers = () => Promise.all(drivers.map((driver) => driver.close()));

  const openHost = async (identity: HostIdentity): Promise<Host> => {
    const journal = await (parts.journal ?? journalIn(config.stateDir))(identity.name);
    const remembered = await journal.load();
    const running = remembered.filter(({ state }) => state === 'running').map(({ uuid }) => uuid);
    const driver = await parts.driver(identity, running);
    drivers.push(driver);
    const host = createHost({ ...parts, facts: hostFacts(config, identity), driver, journal, counters, drainEnd });
    lostReports.watch(host);
    const lost = await recoverInstances(host, remembered);
    for (const instance of lost) lostReports.report(host, instance, 'it stopped while the agent was away');
    return host;
  };

  const hosts = await openHosts(parts, openHost).catch(async (thrown: unknown) => {
    await closeDrivers();
    throw thrown;
  });
  counters.hosts.set(hosts.length);

  const orders = new OrderQueue({ ...parts, drainEnd }, hosts);
  let reportedCount = 0;
  const startReporting = async (host: Host) => {
    const stats = () => collectStats(host);
    const reports = reporter.add(host.facts.name, stats, () => ioOpsOf(host.ledger));
    host.reportSoon = () => reports.reportSoon();
    await reports.firstSent;
    reportedCount++;
  };
  const begin = async () => {
    // There before the first report, so that whoever hears of a host can give it orders.
    await orders.declare();
    await Promise.all([orders.consume(), ...hosts.map(startReporting)]);
  };
  await Promise.race([begin(), sleep(clock, config.reportTimeoutMs)]);
  log.info({ event: 'agent_started', hosts: hosts.length, driver: config.driver }, 'compute agent started');

  return {
    readiness() {
      if (!bus.isConnected()) return { ready: false, reason: 'not connected to the broker' };
      if (!orders.isConsuming) return { ready: false, reason: 'the order queue is not consumed yet' };
      if (reportedCount === hosts.length) return { ready: true };
      return { ready: false, reason: `${reportedCount} of ${hosts.length} hosts have sent a report` };
    },
    async close() {
      reporter.stop();
      const cancelTimeout = clock.after(config.drainTimeoutMs, () => draining.abort());
      for (const { builds } of hosts) builds.drain();
      await orders.cancel();
      cancelTimeout();
      draining.abort();
      await lostReports.settled();
      await Promise.race([reporter.reportAll(), sleep(clock, config.reportTimeoutMs)]);
      await closeDrivers();
    },
  };
}

/** Journals below a folder; '' remembers nothing. */
function journalIn(stateDir: string): (host: string) => Promise<Journal> {
  return async (host) => (stateDir === '' ? noJournal : openJournal(join(stateDir, host, 'journal')));
}

async function openHosts({ bus, config }: ComputeAgentParts, open: (identity: HostIdentity) => Promise<Host>) {
  await bus.declare(BUILD_RESULTS);
  const takeTurn = limitConcurrency(MAX_OPENING_HOSTS);
  const opening = hostNames(config).map((name, index) => takeTurn(() => open({ name, index })));
  // All have settled before the first failure is thrown: nothing opens after what was opened is closed.
  await Promise.allSettled(opening);
  return Promise.all(opening);
}
