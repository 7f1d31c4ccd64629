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
  /** The broker's address with the user: `amqp://project.demo:password@broker:5672/berth`, or `amqps:`. */
  readonly url: string;
  /** `top` for the top of a fleet of several cells; default `cell1`. */
  readonly cell?: string;
  /** Time limit of connecting, and of a call; default 10,000. */
  readonly timeoutMs?: number;
  /** Time limit of resending a request while the broker or Berth is away; default 30,000, 0 for no retry. */
  readonly retryForMs?: number;
}

/** `connect` of `berth/client`, for Berth's own code: states are the domain's. */
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

/** The project in the user name of a bus URL; undefined without one. */
export function projectOf(busUrl: string): string | undefined {
  const identity = identityOf(userOfUrl(busUrl), cellOf(userOfUrl(busUrl)));
  return identity.kind === 'project' ? identity.projectId : undefined;
}
