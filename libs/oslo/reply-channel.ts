import type { ConfirmChannel } from 'amqplib';
import type { Connection } from '../amqp/connection';
import { ReopeningChannel } from '../amqp/reopening-channel';
import { sleep } from '../domain/clock';
import type { RuntimeDeps } from '../runtime/service';

/** The way of a message; '' is the default exchange, whose routing keys are names of queues. */
export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

/** A queue for answers may come back with its owner's connection: it is tried again for so long. */
const RETRY_FOR_MS = 30_000;
const RETRY_DELAY_MS = 250;

/**
 * Sends messages of a server, each until the broker says that a queue has it. A queue that is not there, or a connection that breaks,
 * is tried again for a while: a caller that waits declares its queue again after the broker's restart.
 */
export class ReplyChannel {
  readonly #reopening: ReopeningChannel<ConfirmChannel>;
  readonly #around: RuntimeDeps;
  readonly #closing = new AbortController();
  readonly #returned = new Set<string>();

  constructor(connection: Connection, around: RuntimeDeps) {
    this.#around = around;
    const role = {
      name: 'answers',
      create: (model: Parameters<typeof createChannel>[0]) => createChannel(model),
      prepare: async (channel: ConfirmChannel) => {
        channel.on('return', ({ properties }) => this.#returned.add(String(properties.messageId)));
      },
      lost() {},
    };
    this.#reopening = new ReopeningChannel(connection, role, around);
    connection.add(this.#reopening);
  }

  get isReady(): boolean {
    return this.#reopening.channel !== undefined;
  }

  /** Resolves to whether a queue has it. Never rejects. */
  async send(route: Route, content: Buffer, forMs = RETRY_FOR_MS): Promise<boolean> {
    const { clock } = this.#around;
    const untilMs = clock.elapsed() + forMs;
    for (;;) {
      if (await this.#attempt(route, content)) return true;
      if (this.#closing.signal.aborted || clock.elapsed() + RETRY_DELAY_MS > untilMs) return false;
      await sleep(clock, RETRY_DELAY_MS, this.#closing.signal);
    }
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#reopening.close();
  }

  #attempt({ exchange, routingKey }: Route, content: Buffer): Promise<boolean> {
    const channel = this.#reopening.channel;
    if (channel === undefined) return Promise.resolve(false);
    const messageId = this.#around.random.uuid();
    const options = { contentType: 'application/json', contentEncoding: 'utf-8', mandatory: true, messageId };
    return new Promise((resolve) => {
      const lost = () => resolve(false);
      channel.once('close', lost);
      try {
        channel.publish(exchange, routingKey, content, options, (error: Error | null) => {
          channel.removeListener('close', lost);
          // A message that no queue takes is returned before it is confirmed.
          resolve(!error && !this.#returned.delete(messageId));
        });
      } catch {
        lost();
      }
    });
  }
}

function createChannel(model: { createConfirmChannel(): Promise<ConfirmChannel> }): Promise<ConfirmChannel> {
  return model.createConfirmChannel();
}
