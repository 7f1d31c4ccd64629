import { Cluster, Redis } from 'ioredis';
import type { Random } from '../domain/random';
import { type BackoffLimits, backoffMs } from '../runtime/backoff';
import { corkPerTick } from '../runtime/cork-per-tick';
import type { StoreAddress } from './address';

/** Settings common to all three clients. */
export interface ClientSettings {
  readonly random: Random;
  readonly commandTimeoutMs: number;
  readonly connectionName: string;
  readonly blockMs?: number | undefined;
}

const RECONNECT: BackoffLimits = { firstMs: 40, maxMs: 2_000 };
/** Retry interval while a slot, with its keys, moves from one node to another. */
const SLOT_MOVES_RETRY_MS = 50;

/** Opens ioredis' own client for an address. */
export function openClient(address: StoreAddress, settings: ClientSettings): Redis | Cluster {
  if (address.kind === 'cluster') return openCluster(address, settings);
  const backoff = backoffOf(settings);
  const options = {
    ...connectionOptions(settings),
    retryStrategy: backoff,
    enableOfflineQueue: false,
    // After a failover the old server is read-only: reconnect to the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  const redis =
    address.kind === 'server'
      ? new Redis(address.url, options)
      : new Redis({ ...options, ...sentinelOptions(address, backoff) });
  corkWhenConnected(redis);
  return redis;
}

function sentinelOptions(
  { sentinels, sentinelLogin, name, login, hasTls }: Extract<StoreAddress, { kind: 'sentinel' }>,
  backoff: (attempt: number) => number,
) {
  return {
    sentinels: sentinels.map((sentinel) => ({ ...sentinel })),
    name,
    ...login,
    sentinelUsername: sentinelLogin.username,
    sentinelPassword: sentinelLogin.password,
    sentinelRetryStrategy: backoff,
    // A partitioned primary does not report that another was promoted; the Sentinels do.
    failoverDetector: true,
    ...(hasTls ? { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  };
}

function openCluster(
  { nodes, login, hasTls }: Extract<StoreAddress, { kind: 'cluster' }>,
  settings: ClientSettings,
): Cluster {
  const cluster = new Cluster(
    nodes.map((node) => ({ ...node })),
    {
      redisOptions: { ...connectionOptions(settings), ...login, ...(hasTls ? { tls: {} } : {}) },
      clusterRetryStrategy: backoffOf(settings),
      slotsRefreshTimeout: settings.commandTimeoutMs,
      retryDelayOnTryAgain: SLOT_MOVES_RETRY_MS,
      // Commands in flight when a connection breaks are not resent.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      // Certificates carry host names, not addresses.
      ...(hasTls
        ? { dnsLookup: (host: string, done: (error: null, address: string) => void) => done(null, host) }
        : {}),
    },
  );
  cluster.on('+node', corkWhenConnected);
  return cluster;
}

function connectionOptions(settings: ClientSettings) {
  return {
    connectionName: settings.connectionName,
    ...silenceLimits(settings),
    connectTimeout: settings.commandTimeoutMs,
    // Its timer outlives a closed connection.
    disconnectTimeout: 50,
    autoResendUnfulfilledCommands: false,
    // Commands in flight fail as soon as the connection breaks; reconnecting has no limit.
    maxRetriesPerRequest: 0,
  };
}

/**
 * One timer per connection costs nothing per command. But it outlives a connection closed during a blocking read, and
 * would keep the process alive; on such a connection each command has its own timer.
 */
function silenceLimits({ commandTimeoutMs, blockMs }: ClientSettings) {
  return blockMs === undefined ? { socketTimeout: commandTimeoutMs } : { commandTimeout: commandTimeoutMs + blockMs };
}

function backoffOf({ random }: ClientSettings): (attempt: number) => number {
  return (attempt) => backoffMs(attempt, RECONNECT, random);
}

function corkWhenConnected(redis: Redis): void {
  redis.on('connect', () => corkPerTick(redis.stream));
}
