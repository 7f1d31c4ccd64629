import { isLoginRefused } from '../../amqp/broker-errors';
import { Connection } from '../../amqp/connection';
import { BerthError } from '../../domain/errors';
import { endsWithin } from '../../runtime/ends-within';
import type { RuntimeDeps } from '../../runtime/service';
import type { BusConfig } from '../options';
import type { Bus } from '../port';
import { AmqpBus } from './amqp-bus';

/** RabbitMQ's address, and settings of the bus. */
export type AmqpSettings = BusConfig & {
  /** `amqp://user:password@host:port/vhost`, or `amqps:`; `?heartbeat=` overrides the setting. */
  readonly busUrl: string;
  /** Name of the connection in RabbitMQ's lists. */
  readonly processName?: string;
  /** True for interactive use: fails at once when no broker listens, instead of waiting for it to start. */
  readonly isHasty?: boolean;
};

/**
 * Connects to RabbitMQ; afterwards the bus reconnects by itself and restores its queues and consumers. Tries for
 * `connectTimeoutMs`, so that a process may start before its broker.
 *
 * @throws BerthError `unavailable / broker_unreachable`; `permission_denied / broker_refused` (at once: wrong user,
 *   password or vhost); `invalid_argument / bad_bus_url`.
 */
export async function connectAmqp(settings: AmqpSettings, around: RuntimeDeps): Promise<Bus> {
  const url = addressOf(settings);
  const where = `${url.hostname}:${url.port || (url.protocol === 'amqps:' ? 5671 : 5672)}`;
  const { reconnectDelayMs, connectTimeoutMs, processName = 'berth', isHasty = false } = settings;
  const connectionThat = (does: string) =>
    new Connection({ url: url.href, reconnectDelayMs, connectionName: `${processName} ${does}` }, around);
  const publishing = connectionThat('publishes');
  const consuming = connectionThat('consumes');
  const bus = new AmqpBus({ publishing, consuming }, settings, around);
  const retries = logEachMinute(where, around);
  const settled = bothUpOrRefused(
    upOrRefused(consuming, where, isHasty, retries),
    upOrRefused(publishing, where, isHasty, retries),
  );
  await Promise.all([consuming.open(), publishing.open()]);
  const isSettled = await endsWithin(settled, connectTimeoutMs, around.clock);
  const problem = isSettled ? await settled : unreachable(where, ` within ${connectTimeoutMs} ms`, consuming.lastError);
  if (problem !== undefined) {
    await bus.close();
    throw problem;
  }
  around.log.info({ event: 'bus_connected', broker: where }, 'connected to the broker');
  return bus;
}

async function bothUpOrRefused(
  one: Promise<BerthError | undefined>,
  other: Promise<BerthError | undefined>,
): Promise<BerthError | undefined> {
  return (await one) ?? (await other);
}

/** Hears of attempts to connect. */
interface Retries {
  failed(error: Error): void;
  /** Has the next failure said at once. */
  succeeded(): void;
}

const LOG_EVERY_MS = 60_000;

/** Logs a failure at once, and each minute while the broker stays away, or refuses what it took before. */
function logEachMinute(where: string, { clock, log }: Pick<RuntimeDeps, 'clock' | 'log'>): Retries {
  let quietUntilMs = 0;
  return {
    failed(thrown) {
      if (clock.elapsed() < quietUntilMs) return;
      quietUntilMs = clock.elapsed() + LOG_EVERY_MS;
      const error = isLoginRefused(thrown) ? refused(where, thrown) : unreachable(where, '', thrown);
      log.warn({ event: 'bus_unavailable', setting: 'BERTH_BUS_URL', error }, 'broker unavailable, connecting');
    },
    succeeded() {
      quietUntilMs = 0;
    },
  };
}

/**
 * Resolves to undefined on the first connection, or to the error that makes waiting useless. Failures that are retried,
 * which all are after the first connection, are told to `retries`.
 */
function upOrRefused(
  connection: Connection,
  where: string,
  isHasty: boolean,
  retries: Retries,
): Promise<BerthError | undefined> {
  let closedCount = 0;
  let wasUp = false;
  return new Promise((resolve) => {
    connection.onUp = () => {
      wasUp = true;
      retries.succeeded();
      resolve(undefined);
    };
    connection.onFailed = (error) => {
      if (wasUp) return retries.failed(error);
      // A wrong login is reported as such. With a wrong virtual host the connection is closed instead of opened; a
      // stopping broker does that too, but only once.
      closedCount = /got <ConnectionClose/.test(error.message) ? closedCount + 1 : 0;
      if (isLoginRefused(error) || closedCount >= 3) resolve(refused(where, error));
      else if (isHasty && isNobodyThere(error)) resolve(unreachable(where, '', error));
      else retries.failed(error);
    };
  });
}

function addressOf({ busUrl, heartbeatS }: AmqpSettings): URL {
  try {
    const url = new URL(busUrl);
    if (url.hostname === '') throw new TypeError('no host');
    if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', String(heartbeatS));
    return url;
  } catch {
    // The URL is not shown: it may carry a password.
    throw new BerthError(
      'invalid_argument',
      'bad_bus_url',
      'the bus URL must be like amqp://user:password@host:5672/vhost',
    );
  }
}

/** No such port or name, as opposed to a slow broker. */
function isNobodyThere({ message }: Error): boolean {
  return /\b(ECONNREFUSED|ENOTFOUND)\b/.test(message);
}

function unreachable(where: string, within: string, lastError: NodeJS.ErrnoException | undefined): BerthError {
  const why = lastError?.message || lastError?.code || 'no answer';
  return new BerthError(
    'unavailable',
    'broker_unreachable',
    `no RabbitMQ at ${where}${within} (${why}); start it, or set BERTH_BUS_URL`,
    { cause: lastError },
  );
}

function refused(where: string, error: Error): BerthError {
  return new BerthError(
    'permission_denied',
    'broker_refused',
    `the RabbitMQ at ${where} refuses the connection (${error.message}); check user, password and vhost in BERTH_BUS_URL`,
    { cause: error },
  );
}
