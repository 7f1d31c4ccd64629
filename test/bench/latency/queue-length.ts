import { type Channel, type ChannelModel, connect } from 'amqplib';
import { RPC_SCHEDULER } from '#libs/contracts/queues';

const SAMPLE_INTERVAL_MS = 20;

/** Samples of how many calls wait in the broker's queue of the schedulers. */
export class QueueLength {
  #lengths: number[] = [];
  #sampling: NodeJS.Timeout | undefined;

  private constructor(
    private readonly connection: ChannelModel,
    private readonly channel: Channel,
  ) {}

  static async open(url: string): Promise<QueueLength> {
    const connection = await connect(url);
    return new QueueLength(connection, await connection.createChannel());
  }

  /** Begins anew. */
  begin(): void {
    this.#lengths = [];
    this.#sampling ??= setInterval(() => void this.#sample(), SAMPLE_INTERVAL_MS);
  }

  meanLength(): number {
    return this.#lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, this.#lengths.length);
  }

  async close(): Promise<void> {
    clearInterval(this.#sampling);
    await this.connection.close();
  }

  async #sample(): Promise<void> {
    // Closing rejects the last one.
    const answer = await this.channel.checkQueue(RPC_SCHEDULER.name).catch(() => undefined);
    if (answer) this.#lengths.push(answer.messageCount);
  }
}
