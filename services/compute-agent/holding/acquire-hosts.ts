import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { acquireHostsMethod, type HostGrant, releaseHostsMethod } from '#libs/contracts/host-leases';
import { STATS } from '#libs/contracts/queues';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { backoffMs } from '#libs/runtime/backoff';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { AgentMetrics } from '../metrics';
import { type AgentConfig, callOptions, leaseMsOf } from '../options';
import type { HostLease } from './host-lease';

export interface AcquireParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly counters: AgentMetrics;
  readonly agentRun: string;
  /** The former run, which is dead: this run takes over its hosts; '' when unknown. */
  readonly formerRun: string;
  readonly leases: readonly HostLease[];
  /**
   * For nodes of the configured pool: true for a node that this run is to hold now. Default: true for all, and none is
   * a pool's node.
   */
  readonly isWanted?: (host: string) => boolean;
  /** Called with the leases of newly held hosts. */
  readonly onGranted: (leases: readonly HostLease[]) => Promise<void>;
}

/** Requests the process's hosts that it does not hold yet, again and again. */
export interface Acquirer {
  /** Requests now: a host was lost. */
  askSoon(): void;
  /** Stops requesting. */
  stop(): void;
  /** Releases hosts, so that the next run need not wait. */
  release(hosts: readonly string[]): Promise<void>;
}

/** Without an epoch: another run holds the host. */
type Grant = Omit<HostGrant, 'epoch'> & { readonly epoch: number | undefined };

/** One grant per host, and the store's time of the answer: 0 from a scheduler that does not say it. */
interface Granted {
  readonly grants: readonly Grant[];
  readonly atMs: number;
}

const FIRST_PAUSE_MS = 100;
/**
 * Limit per request: each node must be read and reported before its lease expires; the next are requested afterwards.
 */
const MAX_NODES_AT_ONCE = 64;
/** Minimum pause, for a store that grants hosts and then refuses their reports. */
const MIN_INTERVAL_MS = 1_000;

/**
 * Requests the hosts of this process from schedulers until it holds all. All go in one call, which the store answers
 * atomically: of two processes that start at once with the same hosts, one gets them all.
 *
 * A host that another run holds is requested again when that lease may have expired. Until then nothing is reported of
 * it and it takes no orders; its instances keep running.
 */
export function acquireHosts(parts: AcquireParts): Acquirer {
  const { clock, random, log, config, leases, isWanted = () => true } = parts;
  const pool = parts.isWanted ? config.pool : '';
  const mostAtOnce = parts.isWanted ? MAX_NODES_AT_ONCE : Math.max(1, leases.length);
  const stopping = new AbortController();
  const pauses = { firstMs: FIRST_PAUSE_MS, maxMs: config.retryMaxMs };
  const pause = wakeable(clock, stopping.signal);
  let isAsking = false;
  let [failures, grantedAtMs] = [0, -Infinity];
  // Another agent of the pool keeps its nodes for a while.
  const noteTaken = pool === '' ? takenNoter(parts) : () => {};

  async function askUntilHeld(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    while (!stopping.signal.aborted) {
      const wanted = leases.filter((lease) => !lease.isHeld && isWanted(lease.host));
      if (wanted.length === 0) break;
      const earlyMs = grantedAtMs + MIN_INTERVAL_MS - clock.elapsed();
      await pause.for(earlyMs > 0 ? earlyMs : await askAll(wanted));
    }
    isAsking = false;
  }

  /** Makes as many calls as needed, and resolves to the pause before the next tries. */
  async function askAll(wanted: readonly HostLease[]): Promise<number> {
    let pauseMs = Infinity;
    for (let from = 0; from < wanted.length && !stopping.signal.aborted; from += mostAtOnce) {
      const still = wanted.slice(from, from + mostAtOnce).filter(({ isHeld, host }) => !isHeld && isWanted(host));
      if (still.length > 0) pauseMs = Math.min(pauseMs, await ask(still));
    }
    return Number.isFinite(pauseMs) ? pauseMs : 0;
  }

  /** Requests once, and resolves to the pause before the next try. */
  async function ask(wanted: readonly HostLease[]): Promise<number> {
    const askedAtMs = clock.elapsed();
    try {
      const { grants, atMs } = await grantsFor(
        parts,
        pool,
        wanted.map(({ host }) => host),
      );
      failures = 0;
      const granted = wanted.filter((lease, n) => {
        if (atMs > 0) lease.hearStoreTime(atMs);
        return isGranted(lease, grants[n], { askedAtMs, serviceHost: config.host });
      });
      if (granted.length > 0) grantedAtMs = clock.elapsed();
      const taken = grants.flatMap((grant, n) =>
        grant.epoch === undefined ? [{ ...grant, host: wanted[n]?.host }] : [],
      );
      noteTaken(taken);
      if (granted.length > 0 && !stopping.signal.aborted) await parts.onGranted(granted);
      return taken.length === 0 ? 0 : Math.max(FIRST_PAUSE_MS, Math.min(...taken.map(({ heldForMs }) => heldForMs)));
    } catch (thrown) {
      failures += 1;
      if (failures === 1) {
        const error = BerthError.from(thrown);
        log.warn({ event: 'hosts_not_acquired', service_host: config.host, error }, 'hosts not acquired, retrying');
      }
      return backoffMs(failures, pauses, random);
    }
  }

  void askUntilHeld();
  return {
    askSoon() {
      pause.end();
      void askUntilHeld();
    },
    stop() {
      stopping.abort();
    },
    release: (hosts) => release(parts, hosts),
  };
}

/** Grants or refuses a lease by the store's answer. */
function isGranted(
  lease: HostLease,
  { epoch, holderServiceHost = '', heldForMs = 0 }: Partial<Grant> = {},
  { askedAtMs, serviceHost }: { readonly askedAtMs: number; readonly serviceHost: string },
): boolean {
  if (epoch !== undefined) lease.grant(epoch, askedAtMs);
  else if (holderServiceHost !== '' && holderServiceHost !== serviceHost) lease.refuse(heldForMs);
  return epoch !== undefined;
}

async function release({ bus, config, log, agentRun }: AcquireParts, hosts: readonly string[]): Promise<void> {
  if (hosts.length === 0) return;
  const request = { serviceHost: config.host, agentRun, hosts };
  await callMethod({ bus, queue: STATS }, releaseHostsMethod, request, callOptions(config)).catch((error: unknown) =>
    log.warn({ event: 'hosts_not_released', error }, 'hosts not given back; the next run waits for the lease'),
  );
}

/** Granted hosts have an epoch. A scheduler of an older version knows no epochs, and lets every agent report. */
async function grantsFor(parts: AcquireParts, pool: string, hosts: readonly string[]): Promise<Granted> {
  const { bus, config, agentRun, formerRun } = parts;
  const request = { serviceHost: config.host, agentRun, formerRun, hosts, leaseMs: leaseMsOf(config), pool };
  try {
    const { grants, atMs } = await callMethod({ bus, queue: STATS }, acquireHostsMethod, request, callOptions(config));
    return {
      grants: grants.map((grant) => ({ ...grant, epoch: grant.epoch === 0 ? undefined : grant.epoch })),
      atMs,
    };
  } catch (thrown) {
    if (BerthError.from(thrown).code !== 'unimplemented') throw thrown;
    return { grants: hosts.map(() => ({ epoch: 0, holderRun: '', holderServiceHost: '', heldForMs: 0 })), atMs: 0 };
  }
}

/** Tells operators of hosts that another run holds: one line per holder, not per try. */
function takenNoter({ counters, log }: AcquireParts) {
  let knownHolder = '';
  return (taken: readonly (Grant & { readonly host: string | undefined })[]): void => {
    counters.hostsTaken.set(taken.length);
    const [first] = taken;
    const holder = first ? `${first.holderServiceHost} ${first.holderRun}` : '';
    if (first && holder !== knownHolder) {
      const fields = {
        event: 'host_taken',
        host: first.host,
        host_count: taken.length,
        holder_service_host: first.holderServiceHost,
        holder_run: first.holderRun,
        held_for_ms: first.heldForMs,
      };
      log.error(fields, 'another run of an agent holds this host: waiting, nothing is reported and no order is taken');
    }
    knownHolder = holder;
  };
}

/** A pause that can be ended early. */
function wakeable(clock: Clock, stopping: AbortSignal) {
  let end = () => {};
  return {
    end: () => end(),
    async for(pauseMs: number): Promise<void> {
      const waiting = new AbortController();
      end = () => waiting.abort();
      const stop = () => waiting.abort();
      stopping.addEventListener('abort', stop, { once: true });
      if (pauseMs > 0) await sleep(clock, pauseMs, waiting.signal);
      stopping.removeEventListener('abort', stop);
    },
  };
}
