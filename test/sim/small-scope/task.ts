import type { Bus, CastHandler, OutgoingMessage } from '#libs/bus/port';
import { buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { type QueueAddress, queueName } from '#libs/contracts/queues';
import { listQuotasMethod } from '#libs/contracts/quotas';
import type { Instance } from '#libs/domain/instance';
import { seededRandom } from '#libs/domain/random';
import type { LeaseStore } from '#libs/instances/store';
import { open, sealer } from '#libs/placement/sealed/allocation-request';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import type { Metrics } from '#libs/runtime/metrics';
import type { Stores } from '#libs/simulation/store-server';
import { conductorOptions } from '../../../services/conductor/options';
import { PENDING_LEASE } from '../../../services/conductor/pending/keep-queue';
import { startConductor } from '../../../services/conductor/start';
import { KEY } from './small-scheduler';

/** The view that a conductor of one task has of the world. */
export interface TaskWorld {
  readonly stores: Stores;
  readonly now: () => number;
  /** Does a step once it is chosen. */
  readonly pass: <T>(what: string, effect: () => Promise<T>) => Promise<T>;
  /** Does a step at once. */
  readonly atOnce: <T>(what: string, effect: () => Promise<T>) => Promise<T>;
  readonly select: (body: Uint8Array) => Promise<Uint8Array>;
  readonly order: (host: string, message: OutgoingMessage) => void;
}

/** A conductor that does one task, one chosen step at a time. */
export interface Task {
  /** Handles a message from a queue. */
  handle(queue: string): CastHandler;
  /** Runs a periodic task once. */
  doPeriodically(what: Periodic): void;
}

/** In the order in which a conductor sets their timers. */
export const PERIODIC = ['sweep', 'audit'] as const;
export type Periodic = (typeof PERIODIC)[number];

/** So long that its timers can be told from pauses. */
const PERIOD_MS = '3600000';
const SETTINGS = {
  BERTH_CONDUCTOR_DUE_INTERVAL_MS: PERIOD_MS,
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: PERIOD_MS,
  BERTH_CONDUCTOR_PENDING_INTERVAL_MS: PERIOD_MS,
  BERTH_CONDUCTOR_WANTED_INTERVAL_MS: PERIOD_MS,
  BERTH_CONDUCTOR_RETENTION_MS: '31536000000',
};
const LONGEST_PAUSE_MS = 60_000;
/** A step that only ends a wait. */
export const PAUSE = 'goes on after a pause';
const CONFIG = readConfig(conductorOptions, SETTINGS);

/** Steps that no invariant depends on, and reads of constant data: done at once. */
const AT_ONCE: readonly string[] = ['hosts', 'takeDue', 'markPublished', 'forget', 'list', 'acquire', 'release'];

/** Starts the real conductor with ports whose steps wait to be chosen. */
export async function startTask(world: TaskWorld): Promise<Task> {
  const handlers = new Map<string, CastHandler>();
  const periodic: (() => void)[] = [];
  const clock = {
    now: world.now,
    elapsed: world.now,
    after(delayMs: number, action: () => void) {
      if (delayMs > LONGEST_PAUSE_MS) periodic.push(action);
      else void world.pass(PAUSE, async () => {}).then(action);
      return () => {};
    },
  };
  const { placement, instances, leases, flavors } = world.stores;
  await startConductor({
    clock,
    random: seededRandom(1),
    log: silentLog,
    metrics: NO_METRICS,
    bus: busOf(world, handlers),
    placement: gated(placement, world),
    instances: gated(instances, world),
    leases: gated(withoutQueue(leases), world),
    flavors,
    config: CONFIG,
    open: (sealed, nowMs) => open(sealed, KEY, nowMs),
    seal: sealer(KEY),
  });
  return {
    handle: (queue) => handlers.get(queue) as CastHandler,
    doPeriodically: (what) => periodic[PERIODIC.indexOf(what)]?.(),
  };
}

/** The small world has no queue for capacity, and no keeper of it. */
function withoutQueue(leases: LeaseStore): LeaseStore {
  return {
    acquire: async (name, holder, ttlMs) => (name === PENDING_LEASE ? undefined : leases.acquire(name, holder, ttlMs)),
    release: (name, holder) => leases.release(name, holder),
  };
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** A store whose methods wait to be chosen, except those that no invariant depends on. */
function gated<T extends object>(store: T, { pass, atOnce }: TaskWorld): T {
  return new Proxy(store, {
    get(_target, name) {
      const value: unknown = Reflect.get(store, name, store);
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      const method = (...args: unknown[]) => (value as Method).apply(store, args);
      if (name.startsWith('scan')) return (...args: unknown[]) => scan(atOnce, name, method, args);
      return (...args: unknown[]) => {
        const what = AT_ONCE.includes(name) ? undefined : stepName(name, args);
        return what === undefined ? atOnce(name, () => method(...args)) : pass(what, () => method(...args));
      };
    },
  });
}

/** Reads everything at once, then passes it on: the receiver's actions are steps of their own. */
async function scan(atOnce: TaskWorld['atOnce'], name: string, method: Method, args: readonly unknown[]) {
  const at = args.findIndex((one) => typeof one === 'function');
  const { chunks, result } = await atOnce(name, async () => {
    const found: unknown[][] = [];
    const collect = async (...chunk: unknown[]) => void found.push(chunk);
    return { chunks: found, result: await method(...args.with(at, collect)) };
  });
  for (const chunk of chunks) await (args[at] as Method)(...chunk);
  return result;
}

/** Undefined for methods that are done at once. */
function stepName(method: string, [first]: readonly unknown[]): string | undefined {
  switch (method) {
    case 'commit': {
      const { kind } = first as { kind: string };
      return kind === 'record_failure' ? undefined : kind;
    }
    case 'update': {
      const { state, version } = first as Instance;
      return `writes ${state}, v${version}`;
    }
    case 'consumers':
      return 'reads the claim';
    case 'get':
      return 'reads the record';
    default:
      return method;
  }
}

/** Projects have no quota here. */
const NO_QUOTAS = listQuotasMethod.response.encode({ projects: [], defaultLimits: {} });

function busOf(world: TaskWorld, handlers: Map<string, CastHandler>): Bus {
  const subscription = { cancel: async () => {} };
  const bus: Partial<Bus> = {
    serve: async () => subscription,
    consume: async (queue, handler) => {
      handlers.set(queue.name, handler);
      return subscription;
    },
    call: async (_queue, { type, body }) =>
      type === listQuotasMethod.request.type ? NO_QUOTAS : world.pass('asks a scheduler', () => world.select(body)),
    cast: (queue, message) =>
      world.pass(`orders ${orderName(message)}`, async () => world.order(hostIn(queue), message)),
    publish: async () => {},
    depth: async () => 0,
    taken: () => 0,
    isConnected: () => true,
    readiness: () => ({ ready: true }),
  };
  return bus as Bus;
}

function hostIn(queue: QueueAddress): string {
  return queueName(queue).slice('agent.'.length);
}

function orderName({ type, body }: OutgoingMessage): string {
  if (type === destroyInstanceCodec.type) {
    const { host, attempt } = destroyInstanceCodec.decode(body);
    return `${host} to destroy up to attempt ${attempt}`;
  }
  const { host, attempt } = buildInstanceCodec.decode(body);
  return `${host} to build attempt ${attempt}`;
}

const ignore = new Proxy({}, { get: () => () => {} });
const NO_METRICS = { counter: () => ignore, gauge: () => ignore, histogram: () => ignore } as unknown as Metrics;
