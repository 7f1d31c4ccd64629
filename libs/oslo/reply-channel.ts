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
/** Bytes of answers that wait for queues which are not there, in all and for one queue. */
const MAX_LATE_BYTES = 33_554_432;
const MAX_LATE_BYTES_EACH = MAX_LATE_BYTES / 4;
/** A small answer counts as so many bytes, for it is sent again as often as a large one. */
const LEAST_LATE_BYTES = 32_768;

type Outcome = 'taken' | 'no_queue' | 'not_sent';

/**
 * Sends messages of a server, each until the broker says that a queue has it. A queue that is not there, or a connection that breaks,
 * is tried again for a while: a caller that waits declares its queue again after the broker's restart.
 */
export class ReplyChannel {
  readonly #reopening: ReopeningChannel<ConfirmChannel>;
  readonly #around: RuntimeDeps;
  readonly #closing = new AbortController();
  readonly #returned = new Set<string>();
  /** Bytes of late answers by queue. */
  readonly #late = new Map<string, number>();

  constructor(connection: Connection, around: RuntimeDeps) {
    this.#around = around;
    const role = {
      name: 'answers',
      create: (model: Parameters<typeof createChannel>[0]) => createChannel(model),
      prepare: async (channel: ConfirmChannel) => {
        // Each message that is sent listens for its end.
        channel.setMaxListeners(0);
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
    return (await this.#trySending(route, content, { forMs, endsAt: ['taken'] })) === 'taken';
  }

  /**
   * Sends an answer; resolves once a queue has it, or the queue is not there. Then it is tried on by itself, so that callers who are gone
   * hold no request of others; beyond its share it is dropped. Never rejects.
   *
   * @param onDropped  told when no queue has taken it
   */
  async answer(route: Route, content: Buffer, onDropped: () => void): Promise<void> {
    const outcome = await this.#trySending(route, content, { forMs: RETRY_FOR_MS, endsAt: ['taken', 'no_queue'] });
    if (outcome === 'taken') return;
    void this.#sendLate(route, content).then((isTaken) => isTaken || onDropped());
  }

  async #sendLate(route: Route, content: Buffer): Promise<boolean> {
    const { routingKey } = route;
    const bytes = Math.max(content.length, LEAST_LATE_BYTES);
    const add = (more: number) => {
      const left = (this.#late.get(routingKey) ?? 0) + more;
      if (left > 0) this.#late.set(routingKey, left);
      else this.#late.delete(routingKey);
    };
    const all = [...this.#late.values()].reduce((sum, one) => sum + one, bytes);
    if (all > MAX_LATE_BYTES || (this.#late.get(routingKey) ?? 0) + bytes > MAX_LATE_BYTES_EACH) return false;
    add(bytes);
    try {
      return await this.send(route, content);
    } finally {
      add(-bytes);
    }
  }

  async #trySending(
    route: Route,
    content: Buffer,
    { forMs, endsAt }: { readonly forMs: number; readonly endsAt: readonly Outcome[] },
  ): Promise<Outcome> {
    const { clock } = this.#around;
    const untilMs = clock.elapsed() + forMs;
    for (;;) {
      const outcome = await this.#attempt(route, content);
      const isOver = this.#closing.signal.aborted || clock.elapsed() + RETRY_DELAY_MS > untilMs;
      if (isOver || endsAt.includes(outcome)) return outcome;
      await sleep(clock, RETRY_DELAY_MS, this.#closing.signal);
    }
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#reopening.close();
  }

  #attempt({ exchange, routingKey }: Route, content: Buffer): Promise<Outcome> {
    const channel = this.#reopening.channel;
    if (channel === undefined) return Promise.resolve('not_sent');
    const messageId = this.#around.random.uuid();
    const options = { contentType: 'application/json', contentEncoding: 'utf-8', mandatory: true, messageId };
    return new Promise((resolve) => {
      const lost = () => resolve('not_sent');
      channel.once('close', lost);
      try {
        channel.publish(exchange, routingKey, content, options, (error: Error | null) => {
          channel.removeListener('close', lost);
          // A message that no queue takes is returned before it is confirmed.
          if (this.#returned.delete(messageId)) resolve('no_queue');
          else resolve(error ? 'not_sent' : 'taken');
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
