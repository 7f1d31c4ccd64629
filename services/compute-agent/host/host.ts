import type { Bus } from '#libs/bus/port';
import { retryWithBackoff } from '#libs/runtime/backoff';
import { createKeyedLock, type KeyedLock } from '#libs/runtime/keyed-lock';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { Driver, RunningWorkload } from '../drivers/driver';
import type { HostLease } from '../holding/host-lease';
import type { AgentMetrics } from '../metrics';
import type { AgentConfig } from '../options';
import { type Builds, createBuilds } from './builds';
import { type ConcludedBuilds, createConcludedBuilds } from './ended/concluded-builds';
import { createEndedBuilds, type EndedBuilds } from './ended/ended-builds';
import { keptMsOf } from './ended/kept-ms';
import { createTombstones, type Tombstones } from './ended/tombstones';
import { createExits, type Exits } from './exits';
import type { HostFacts } from './host-facts';
import type { Journal } from './journal';
import { createLedger, type Ledger } from './ledger';
import { ownProviders } from './own-providers';
import { type ExternalUsage, externalUsageOf, type Stats, statsOf } from './stats';
import type { BuildOrder } from './tracked-instance';

/** Dependencies of one host. */
export interface HostParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly facts: HostFacts;
  readonly driver: Driver;
  readonly journal: Journal;
  readonly counters: AgentMetrics;
  readonly lease: HostLease;
  /** Aborts at the end of draining: running builds are handed back, and retries stop. */
  readonly drainEnd: AbortSignal;
  /**
   * For a pool's node: true when another run may hold it. Then this run's state is outdated: it judges and reports
   * nothing more, and orders are requeued.
   */
  readonly isOver?: () => boolean;
}

/**
 * One host with its own truth; orders and reports are functions over it.
 *
 * The steps of a build: hold the resources, journal, build, journal that it runs, report (confirmed), ack. After a
 * crash in between, the order is redelivered and finds the instance at its last step. A destroy cancels a build in
 * progress and leaves a tombstone, so that a build which comes after its own destroy is not built.
 */
export interface Host extends HostParts {
  readonly ledger: Ledger;
  readonly builds: Builds;
  readonly tombstones: Tombstones;
  readonly concluded: ConcludedBuilds;
  readonly endedBuilds: EndedBuilds;
  readonly exits: Exits;
  /** By instance: held during a destroy, and during the decision on a build. */
  readonly locks: KeyedLock;
  /**
   * Unsettled build orders, by instance. A destroy that met one is settled after it: otherwise after a crash in between
   * only the build would be redelivered, and the destroyed instance built.
   */
  readonly ordersInHand: Map<string, Promise<unknown>>;
  /** By instance: builds of an earlier run for this one to continue. They exist here, untracked. */
  readonly carriedOn: Map<string, BuildOrder>;
  /** Instances with an unreadable journal entry. Builds and destroys of them are taken. */
  readonly unreadable: Set<string>;
  /** The last observed external usage. */
  external: ExternalUsage;
  /** Requests an early report if builds in progress or external usage differ from the last report. */
  reportSoon: () => void;
  /** Requests a report at once: the host's offer to schedulers has changed. */
  reportNow: () => void;
  /** Removes its metrics. */
  readonly forget: () => void;
}

export function createHost(parts: HostParts): Host {
  const ledger = createLedger(parts.facts.providerUuid);
  const unwatch = parts.counters.watch(ledger);
  const warn = (error: unknown) =>
    parts.log.warn(
      { event: 'driver_unavailable', host: parts.facts.name, error },
      'driver unavailable: running instances unknown, retrying',
    );
  const exits = createExits(parts.driver, (action) => retryUntilDrainEnd(parts, action, warn));
  const keptMs = keptMsOf(parts.clock, parts.lease);
  return {
    ...parts,
    ledger,
    builds: createBuilds({ ...parts, exits, ledger, maxBuilds: parts.config.maxBuilds }),
    tombstones: createTombstones(parts.clock, keptMs),
    concluded: createConcludedBuilds(parts.clock, keptMs),
    endedBuilds: createEndedBuilds({ ...parts, keptMs }),
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

/** Looks at the host's workloads, and returns the content of a report. */
export async function collectStats(host: Host, hasAllocationRequests: boolean): Promise<Stats> {
  await refreshExternalUsage(host);
  // Atomically: later statements about the host get later positions.
  return { ...statsOf(host, hasAllocationRequests), ...host.lease.nextPosition() };
}

/** Updates the usage of workloads that the agent does not track; resolves to all workloads. */
export async function refreshExternalUsage(host: Host): Promise<readonly RunningWorkload[]> {
  const { driver, facts, ledger, tombstones, carriedOn, unreadable } = host;
  const workloads = await driver.list();
  const isTracked = (id: string) =>
    ledger.get(id) !== undefined || tombstones.has(id) || carriedOn.has(id) || unreadable.has(id);
  const providers = ownProviders(facts.providerUuid, driver.capacity());
  host.external = externalUsageOf(workloads, isTracked, providers, ledger);
  return workloads;
}

/** Repeats an action with backoff until it succeeds or draining ends; resolves to true on success. */
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
