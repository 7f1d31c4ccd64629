import { randomUUID } from 'node:crypto';
import type { BusConfig } from '../../bus/options';
import { ACK, type Bus, DEAD_LETTERS, type IncomingMessage, type OutgoingMessage, REQUEUE } from '../../bus/port';
import type { QueueSpec } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';
import { gate } from './inbox';

/** Opens one more bus on the broker under test. */
export type OpenBus = (config: Partial<BusConfig>) => Promise<Bus>;

/** The buses of one test. The broker is shared with other tests, so each test has its own queues. */
export class BusWorld {
  readonly #openBus: OpenBus;
  readonly #buses: Bus[] = [];

  constructor(openBus: OpenBus) {
    this.#openBus = openBus;
  }

  async open(config: Partial<BusConfig> = {}): Promise<Bus> {
    const bus = await this.#openBus(config);
    this.#buses.push(bus);
    return bus;
  }

  async close(): Promise<void> {
    await Promise.all(this.#buses.map((bus) => bus.close()));
  }
}

export function aQueue(kind: QueueSpec['kind'], rest: Partial<QueueSpec> = {}): QueueSpec {
  return { name: `test.${randomUUID()}`, kind, ...rest };
}

/** A message with a text body. */
export function aMessage(text: string, rest: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { type: 'berth.test.v1.Text', body: Buffer.from(text), ...rest };
}

export function textOf(body: Uint8Array): string {
  return Buffer.from(body).toString();
}

/** The rejection of a promise as plain facts. Fails when it resolves. */
export async function failureOf(promise: Promise<unknown>): Promise<{ code: string; reason: string }> {
  const error = await errorOf(promise);
  return { code: error.code, reason: error.reason };
}

export async function errorOf(promise: Promise<unknown>): Promise<BerthError> {
  try {
    await promise;
  } catch (thrown) {
    if (thrown instanceof BerthError) return thrown;
    throw thrown;
  }
  throw new Error('expected a BerthError, got success');
}

/** Takes one dead letter of a queue, and leaves those of others. */
export async function takeDeadLetter(bus: Bus, queue: string): Promise<IncomingMessage> {
  const found = gate<IncomingMessage>();
  const subscription = await bus.consume(
    { name: DEAD_LETTERS, kind: 'host' },
    async (message) => {
      if (message.headers?.['berth-queue'] === queue) {
        found.open(message);
        return ACK;
      }
      await found.opened;
      return REQUEUE;
    },
    { prefetch: 5_000 },
  );
  const message = await found.opened;
  await subscription.cancel();
  return message;
}
