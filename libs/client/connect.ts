import { userOfUrl } from '../amqp/user-of-url';
import { openBus } from '../bus/open';
import { cellOf } from '../contracts/cells';
import { identityOf } from '../contracts/identity';
import { DEFAULT_CELL } from '../domain/cells/cell';
import { silentLog } from '../runtime/log';
import { createMetrics } from '../runtime/metrics';
import { systemClock, systemRandom } from '../runtime/system';
import { Client } from './client';

export interface ConnectOptions {
  /** Where the broker is, and as whom: `amqp://project.demo:password@broker:5672/berth`, or `amqps:`. */
  readonly url: string;
  /** `top` for the top of a fleet of several cells, `cell1` when not given. */
  readonly cell?: string;
  /** How long to try to reach the broker, and how long a call waits for its answer: 10,000 when not given. */
  readonly timeoutMs?: number;
  /** How long a request is sent again while the broker or Berth is away: 30,000 when not given, 0 for once only. */
  readonly retryForMs?: number;
}

/**
 * Connects to Berth. Close the client, or the process will not end.
 *
 * @throws BerthError `unavailable / broker_away` when the broker can't be reached in time; `invalid_argument / bad_bus_url`.
 */
export async function connect({
  url,
  timeoutMs = 10_000,
  retryForMs = 30_000,
  cell = DEFAULT_CELL,
}: ConnectOptions): Promise<Client> {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: url, cell, connectTimeoutMs: timeoutMs }, around);
  return new Client(bus, { ...around, timeoutMs, retryForMs, projectId: projectOf(url) });
}

/** The project whose user a bus URL names; undefined when it names none. */
export function projectOf(busUrl: string): string | undefined {
  const identity = identityOf(userOfUrl(busUrl), cellOf(userOfUrl(busUrl)));
  return identity.kind === 'project' ? identity.projectId : undefined;
}
