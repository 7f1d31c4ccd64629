import { Cluster, Redis } from 'ioredis';
import type { Random } from '../domain/random';
import { type BackoffLimits, backoffMs } from '../runtime/backoff';
import { corkPerTick } from '../runtime/cork-per-tick';
import type { StoreAddress } from './address';

/** What all three clients share. */
export interface ClientSettings {
  readonly random: Random;
  readonly commandTimeoutMs: number;
  readonly connectionName: string;
  readonly blockMs?: number | undefined;
}

const RECONNECT: BackoffLimits = { firstMs: 40, maxMs: 2_000 };
/** While a slot moves from one node to another, its keys are with both: how long to wait before asking again. */
const SLOT_MOVES_RETRY_MS = 50;

/** Opens ioredis' own client for an address. */
export function openClient(address: StoreAddress, settings: ClientSettings): Redis | Cluster {
  if (address.kind === 'cluster') return openCluster(address, settings);
  const backoff = backoffOf(settings);
  const options = {
    ...connectionOptions(settings),
    retryStrategy: backoff,
    enableOfflineQueue: false,
    // After a failover the old server is read-only: connect again, to the new one.
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
    // A primary that is cut off does not say that another one was promoted; the Sentinels do.
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
      // What was under way when a connection broke is not sent again.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      // Names in certificates are names of hosts, not addresses.
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
    // Its timer outlives a connection that is closed already.
    disconnectTimeout: 50,
    autoResendUnfulfilledCommands: false,
    // Fails commands under way as soon as the connection breaks; it does not limit reconnecting.
    maxRetriesPerRequest: 0,
  };
}

/**
 * One timer for the whole connection costs nothing per command. But it outlives a connection that is closed under a
 * blocking read, and would keep the process alive; on such a connection each command has its own.
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
