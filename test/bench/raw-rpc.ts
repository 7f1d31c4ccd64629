import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'amqplib';

/**
 * The ceiling of RPC on a broker: two processes with amqplib only, requests and answers of given sizes over transient
 * queues. Berth's calls are measured against this, in the same run and by the same loop.
 *
 * Both set `noDelay`, like Berth: without it an ack waits up to 40 ms for TCP's, which a single caller notices. This is
 * plain amqplib: no confirms, no deadline, and each frame written to the socket by itself. Berth's bus writes the
 * frames of one tick together; a bare pair doing the same would be about half as fast again.
 *
 * @param url      of the broker, `amqp://...`
 * @param calls    `acked`: the server acks each request after its answer, which Berth needs to lose none
 * @param measure  loads the pair with calls
 */
export async function rawRpcRate<T>(
  url: string,
  calls: { readonly requestBytes: number; readonly answerBytes: number; readonly acked: boolean },
  measure: (call: (n: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const queue = `bench.raw-rpc.${process.pid}`;
  const server = fork(__filename, [url, queue, String(calls.answerBytes), String(calls.acked)]);
  const connection = await connect(url, { noDelay: true });
  try {
    await once(server, 'message');
    const channel = await connection.createChannel();
    const answers = await channel.assertQueue('', { exclusive: true });
    const waiting = new Map<string, () => void>();
    await channel.consume(
      answers.queue,
      (message) => {
        const id = String(message?.properties.correlationId);
        waiting.get(id)?.();
        waiting.delete(id);
      },
      { noAck: true },
    );
    const body = Buffer.alloc(calls.requestBytes, 1);
    return await measure((n) => {
      const correlationId = String(n);
      const answered = new Promise<void>((resolve) => waiting.set(correlationId, resolve));
      channel.sendToQueue(queue, body, { correlationId, replyTo: answers.queue });
      return answered;
    });
  } finally {
    server.kill('SIGTERM');
    await connection.close();
  }
}

/** The server process. */
async function serve(url: string, queue: string, answerBytes: number, acked: boolean): Promise<void> {
  const answer = Buffer.alloc(answerBytes, 1);
  const connection = await connect(url, { noDelay: true });
  const channel = await connection.createChannel();
  await channel.prefetch(1_000);
  await channel.assertQueue(queue, { durable: false, autoDelete: true });
  await channel.consume(
    queue,
    (message) => {
      if (message === null) return;
      const { replyTo, correlationId } = message.properties as { replyTo: string; correlationId: string };
      channel.sendToQueue(replyTo, answer, { correlationId });
      if (acked) channel.ack(message);
    },
    { noAck: !acked },
  );
  process.send?.('serving');
}

if (require.main === module) {
  const [url = '', queue = '', answerBytes, acked] = process.argv.slice(2);
  void serve(url, queue, Number(answerBytes), acked === 'true');
}
