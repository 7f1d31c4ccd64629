import type { Bus } from '#libs/bus/port';
import { retryWithBackoff } from '#libs/runtime/backoff';
import { createKeyedLock, type KeyedLock } from '#libs/runtime/keyed-lock';
import type { Surroundings } from '#libs/runtime/service';
import type { Driver } from '../drivers/driver';
import type { HostLease } from '../holding/host-lease';
import type { AgentMetrics } from '../metrics';
import type { AgentConfig } from '../options';
import type { BuildOrder } from './build-order';
import { type Builds, createBuilds } from './builds';
import { type ConcludedBuilds, createConcludedBuilds } from './concluded-builds';
import { createExits, type Exits } from './exits';
import type { HostFacts } from './host-facts';
import type { Journal } from './journal';
import { createLedger, type Ledger } from './ledger';
import { ownProviders } from './own-providers';
import { type ExternalUsage, externalUsageOf, type Stats, statsOf } from './stats';
import { createTombstones, type Tombstones } from './tombstones';

/** What one host of an agent is made of. */
export interface HostParts extends Surroundings {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly facts: HostFacts;
  readonly driver: Driver;
  readonly journal: Journal;
  readonly counters: AgentMetrics;
  readonly lease: HostLease;
  /** Aborts when draining is over: builds that still go on are handed back, and nothing is retried any more. */
  readonly drainEnd: AbortSignal;
  /**
   * Of a node of a pool: whether another run may hold it by now. Then nothing of it is judged or said here any more, and orders go
   * back: this run's own truth is of the past.
   */
  readonly isOver?: () => boolean;
}

/**
 * One host and its own truth; orders and reports are functions over it.
 *
 * The order of a build is: hold the resources, journal, build, journal that it runs, report (confirmed), ack. Whatever
 * dies in between, the order is redelivered and finds the instance where it was. A destroy cancels the build that it
 * meets and leaves a tombstone, so that a build which comes after its own destroy is not built.
 */
export interface Host extends HostParts {
  readonly ledger: Ledger;
  readonly builds: Builds;
  readonly tombstones: Tombstones;
  readonly concluded: ConcludedBuilds;
  readonly exits: Exits;
  /** By instance: held while it is destroyed, and while it is decided what becomes of a build. */
  readonly locks: KeyedLock;
  /**
   * Build orders that are not settled, by instance. A destroy that met them is settled after them: else a crash in between
   * would leave the build alone to be redelivered, and what was destroyed would be built.
   */
  readonly ordersInHand: Map<string, Promise<unknown>>;
  /** By instance: builds that another run began, and this one is yet to go on with. They are here and not tracked. */
  readonly carriedOn: Map<string, BuildOrder>;
  /** Instances that the journal can't say more of than that they were here. Orders and destroys of them are taken. */
  readonly unreadable: Set<string>;
  /** As it was seen last. */
  external: ExternalUsage;
  /** Asks for a report ahead of its time, if builds in progress or external usage are not as reported last. */
  reportSoon: () => void;
  /** Reports at once: what schedulers offer of the host has changed. */
  reportNow: () => void;
  /** Ends what is counted of it. */
  readonly forget: () => void;
}

export function createHost(parts: HostParts): Host {
  const ledger = createLedger(parts.facts.providerUuid);
  const unwatch = parts.counters.watch(ledger);
  const warn = (error: unknown) =>
    parts.log.warn({ event: 'driver_unavailable', host: parts.facts.name, error }, 'what runs is not known, retrying');
  const exits = createExits(parts.driver, (action) => retryUntilDrainEnd(parts, action, warn));
  return {
    ...parts,
    ledger,
    builds: createBuilds({ ...parts, exits, ledger, maxBuilds: parts.config.maxBuilds }),
    tombstones: createTombstones(parts.clock),
    concluded: createConcludedBuilds(parts.clock),
    exits,
    locks: createKeyedLock(),
    ordersInHand: new Map(),
    carriedOn: new Map(),
    unreadable: new Set(),
    external: { workloadCount: 0, byProvider: new Map() },
    reportSoon: () => {},
    reportNow: () => {},
    forget: () => void unwatch(),
  };
}

/** Looks at what runs on the host, and says what there is to report. */
export async function collectStats(host: Host, hasAllocationRequests: boolean): Promise<Stats> {
  await refreshExternalUsage(host);
  // In one step: what is said of the host later has a later position.
  return { ...statsOf(host, hasAllocationRequests), ...host.lease.nextPosition() };
}

/** Looks at what runs on the host besides what the agent tracks. */
export async function refreshExternalUsage(host: Host): Promise<void> {
  const { driver, facts, ledger, tombstones, carriedOn, unreadable } = host;
  const workloads = await driver.list();
  const isTracked = (id: string) =>
    ledger.get(id) !== undefined || tombstones.has(id) || carriedOn.has(id) || unreadable.has(id);
  const providers = ownProviders(facts.providerUuid, driver.capacity());
  host.external = externalUsageOf(workloads, isTracked, providers, ledger);
}

/** Repeats an action with backoff until it succeeds or draining is over; resolves to whether it succeeded. */
export async function retryUntilDrainEnd(
  { clock, random, config, drainEnd: signal }: Pick<Host, 'clock' | 'random' | 'config' | 'drainEnd'>,
  action: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  try {
    await retryWithBackoff(action, { clock, random, firstMs: 100, maxMs: config.retryMaxMs, signal, onFailure });
    return true;
  } catch {
    return false;
  }
}
