import { sleep } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import type { Surroundings } from '../../runtime/service';
import type { BusConfig } from '../options';
import type { Bus } from '../port';
import { AmqpBus } from './amqp-bus';
import { Connection } from './connection';

/** Where RabbitMQ is, and how to use it. */
export type AmqpSettings = BusConfig & {
  /** `amqp://user:password@host:port/vhost`, or `amqps:`; `?heartbeat=` goes before the setting. */
  readonly busUrl: string;
  /** Names the connection in RabbitMQ's own lists. */
  readonly processName?: string;
};

/**
 * Connects to RabbitMQ; from then on the bus reconnects by itself, with all that it has on the broker. Tries for
 * `connectTimeoutMs`, so that a process may start before its broker.
 *
 * @throws BerthError `unavailable / broker_unreachable`; `permission_denied / broker_refused` (at once: user, password or
 *   vhost are wrong); `invalid_argument / bad_bus_url`.
 */
export async function connectAmqp(settings: AmqpSettings, around: Surroundings): Promise<Bus> {
  const url = addressOf(settings);
  const where = `${url.hostname}:${url.port || (url.protocol === 'amqps:' ? 5671 : 5672)}`;
  const first = [new FirstConnection(), new FirstConnection()] as const;
  const { reconnectDelayMs, processName = 'berth' } = settings;
  const connectionFor = (purpose: string, events: FirstConnection) =>
    new Connection({ url: url.href, reconnectDelayMs, connectionName: `${processName} ${purpose}` }, around, events);
  const connections = {
    publishing: connectionFor('publishes', first[0]),
    consuming: connectionFor('consumes', first[1]),
  };
  const bus = new AmqpBus(connections, settings, around);
  // Queues before those who write to them.
  await connections.consuming.open();
  await connections.publishing.open();
  const deadline = new AbortController();
  const outcome = await Promise.race([
    Promise.all(first.map(({ outcome: isUp }) => isUp)).then((all) => all.find((one) => one !== 'up') ?? 'up'),
    sleep(around.clock, settings.connectTimeoutMs, deadline.signal).then(() => 'late' as const),
  ]);
  deadline.abort();
  if (outcome === 'up') {
    around.log.info({ event: 'bus_connected', broker: where }, 'connected to the broker');
    return bus;
  }
  await bus.close();
  throw outcome === 'late'
    ? unreachable(where, settings.connectTimeoutMs, first[1].lastError)
    : refused(where, outcome);
}

/** Whether the first connection comes up, or never will. */
class FirstConnection {
  readonly outcome: Promise<'up' | Error>;
  lastError: Error | undefined;
  #closedCount = 0;
  #settle: (outcome: 'up' | Error) => void = () => {};

  constructor() {
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  up(): void {
    this.#settle('up');
  }

  failed(error: Error): void {
    this.lastError = error;
    // What waiting does not help; amqplib has it in the text alone. A wrong login says so. With a wrong virtual host the
    // connection is closed instead of opened, which a stopping broker does, too, but only once.
    this.#closedCount = /got <ConnectionClose/.test(error.message) ? this.#closedCount + 1 : 0;
    const isRefused = /Handshake terminated by server: 403/.test(error.message);
    if (isRefused || this.#closedCount >= 3) this.#settle(error);
  }
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

function unreachable(where: string, timeoutMs: number, lastError: NodeJS.ErrnoException | undefined): BerthError {
  const why = lastError?.message || lastError?.code || 'no answer';
  return new BerthError(
    'unavailable',
    'broker_unreachable',
    `no RabbitMQ at ${where} within ${timeoutMs} ms (${why}); start it, or set BERTH_BUS_URL`,
    { cause: lastError },
  );
}

function refused(where: string, error: Error): BerthError {
  return new BerthError(
    'permission_denied',
    'broker_refused',
    `the RabbitMQ at ${where} does not let us in (${error.message}); check user, password and vhost in BERTH_BUS_URL`,
    { cause: error },
  );
}
