import { type ChannelModel, type ConsumeMessage, connect } from 'amqplib';
import { type InstanceEvent, instanceEventCodec } from '#libs/contracts/instance';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';

const QUEUE = 'events-of-a-listener';
const RETRY_MS = 100;

/** A listener that misses nothing: it reads a durable queue, and goes on where it was when the connection is back. */
export class EventListener {
  /** Events heard, in order. */
  readonly events: InstanceEvent[] = [];
  #connection: ChannelModel | undefined;
  #isClosed = false;

  private constructor(readonly url: string) {}

  static async start(url: string): Promise<EventListener> {
    const listener = new EventListener(url);
    await listener.#listen();
    return listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.close().catch(() => {});
  }

  async #listen(): Promise<void> {
    const connection = await connect(this.url);
    this.#connection = connection;
    connection.on('error', () => {});
    connection.on('close', () => void this.#listenAgain());
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    await channel.assertQueue(QUEUE, { durable: true });
    await channel.bindQueue(QUEUE, 'berth.events', 'instance.#');
    await channel.consume(QUEUE, (message: ConsumeMessage | null) => {
      if (message === null) return;
      this.events.push(instanceEventCodec.decode(message.content));
      channel.ack(message);
    });
  }

  async #listenAgain(): Promise<void> {
    while (!this.#isClosed) {
      const isListening = await this.#listen().then(
        () => true,
        () => false,
      );
      if (isListening) return;
      await sleep(systemClock(), RETRY_MS);
    }
  }
}
