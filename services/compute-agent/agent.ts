import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import type { Bus } from '#libs/bus/port';
import { BUILD_RESULTS } from '#libs/contracts/topology';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Running, Surroundings } from '#libs/runtime/service';
import type { Driver, HostIdentity, OpenDriver } from './drivers/driver';
import { HostAgent } from './host-agent';
import { dealt, parseWords } from './host-shape';
import { noJournal, openJournal } from './journal';
import { agentMetrics } from './metrics';
import type { AgentConfig } from './options';
import { createReporter } from './reporter';
import { SharedQueue, serviceHostOf } from './shared-queue';
import { createSlots } from './slots';
import type { HostFacts } from './stats';

export interface ComputeAgentParts extends Surroundings {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly driver: OpenDriver;
}

/** Hosts that are opened at once. */
const OPENING_AT_ONCE = 200;

/**
 * A compute agent: one host, or thousands of them in one process, each with its own queue, driver, journal and reports;
 * and, when there are several, a queue for the builds of all.
 *
 * Resolves when each host has found what it carried before, has tried to report, and takes work; when reports are not
 * answered, after `reportTimeoutMs`, with the rest of that going on (`readiness` says how far it is).
 *
 * @throws BerthError `invalid_argument / bad_config`, `failed_precondition / state_dir`, `unavailable`; what was opened
 *   is closed.
 */
export async function startComputeAgent(parts: ComputeAgentParts): Promise<Running> {
  const { bus, config, clock, log } = parts;
  const counts = agentMetrics(parts.metrics);
  const reporter = createReporter(bus, config, counts, parts);
  const drivers: Driver[] = [];

  const openHost = async (identity: HostIdentity): Promise<HostAgent> => {
    const { stateDir } = config;
    const journal = stateDir === '' ? noJournal : await openJournal(join(stateDir, identity.name, 'journal'));
    const remembered = await journal.load();
    const running = remembered.filter((carried) => carried.state === 'running').map((carried) => carried.uuid);
    const driver = await parts.driver(identity, running);
    drivers.push(driver);
    const facts = factsOf(config, identity);
    const host = new HostAgent({ ...parts, facts, driver, journal, counts });
    await host.recover(remembered);
    return host;
  };

  const closeDrivers = () => Promise.all(drivers.map((driver) => driver.close()));
  const hosts = await openAll(parts, openHost).catch(async (thrown: unknown) => {
    await closeDrivers();
    throw thrown;
  });
  counts.hosts.set(hosts.length);
  const serviceHost = serviceHostOf(config);
  const shared = serviceHost === '' ? undefined : new SharedQueue(parts, serviceHost, hosts);
  const begin = async () => {
    await shared?.declare();
    await Promise.all([...hosts.map((host) => host.begin(reporter)), shared?.begin()]);
  };
  await Promise.race([begin(), sleep(clock, config.reportTimeoutMs)]);
  log.info({ hosts: hosts.length, driver: config.driver }, 'carries its hosts');

  return {
    readiness() {
      if (!bus.isConnected()) return { ready: false, reason: 'the bus is away' };
      const waiting = hosts.filter((host) => !host.isTakingWork).length;
      if (waiting > 0) return { ready: false, reason: `${waiting} of ${hosts.length} hosts do not take work yet` };
      if (shared?.isTakingWork === false) return { ready: false, reason: 'the hosts take no builds yet' };
      return { ready: true };
    },
    async close() {
      reporter.stop();
      const patience = new AbortController();
      setMaxListeners(0, patience.signal);
      const cancel = clock.after(config.drainTimeoutMs, () => patience.abort());
      const settled = shared?.close() ?? Promise.resolve();
      await Promise.all(hosts.map((host) => host.stopWork(patience.signal, settled)));
      cancel();
      const lastReports = Promise.all(hosts.map((host) => host.reportLast()));
      await Promise.race([lastReports, sleep(clock, config.reportTimeoutMs)]);
      await closeDrivers();
    },
  };
}

async function openAll({ bus, config }: ComputeAgentParts, open: (identity: HostIdentity) => Promise<HostAgent>) {
  await bus.declare(BUILD_RESULTS);
  const slots = createSlots(OPENING_AT_ONCE);
  const opening = hostNames(config).map(async (name, index) => {
    const release = await slots.take();
    return open({ name, index }).finally(release);
  });
  // All have ended, one way or the other, before the first failure is told: nothing opens behind it.
  await Promise.allSettled(opening);
  return Promise.all(opening);
}

/** `host`, or with several `host-001`, `host-002`, ... in an order that is also that of the alphabet. */
export function hostNames({ host, hosts, driver }: Pick<AgentConfig, 'host' | 'hosts' | 'driver'>): string[] {
  if (hosts === 1) return [host];
  if (driver !== 'fake') {
    const message = `BERTH_AGENT_HOSTS is ${hosts}, but only the fake driver carries more than one host`;
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const width = String(hosts).length;
  return Array.from({ length: hosts }, (_, n) => `${host}-${String(n + 1).padStart(width, '0')}`);
}

function factsOf(config: AgentConfig, { name, index }: HostIdentity): HostFacts {
  return {
    name,
    providerUuid: providerUuidOf(config.cell, name),
    cell: config.cell,
    serviceHost: serviceHostOf(config),
    availabilityZone: dealt(config.zones, index, 'nova'),
    aggregates: dealt(parseWords(config.aggregates), index, undefined),
  };
}

/** The same host is the same provider after every restart, wherever its state went: a UUID made of its name (RFC 9562, version 8). */
function providerUuidOf(cell: string, host: string): string {
  const hex = createHash('sha256').update(`berth provider ${cell}/${host}`).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}
