import { connect } from 'amqplib';
import { type OsloReply, readReply, writeRequest } from '../envelope';
import { deserializeFailure } from '../remote-error';

/** A client of oslo.messaging, for tests. */
export interface RpcClient {
  /** Calls; rejects with the RemoteError of the answer. `onHeartbeat` is told of each heartbeat. */
  call(method: string, args: object, options?: CallOptions): Promise<unknown>;
  /** Sends to every server of the topic. */
  fanout(method: string, args: object, version?: string): Promise<void>;
  /** Bytes of one's own to the topic. */
  publish(content: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly version?: string;
  readonly namespace?: string;
  readonly uniqueId?: string;
  readonly monitorTimeoutS?: number;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly topic?: string;
  readonly onHeartbeat?: () => void;
}

export async function openRpcClient(
  url: string,
  { exchange, topic }: { readonly exchange: string; readonly topic: string },
): Promise<RpcClient> {
  const model = await connect(url);
  const channel = await model.createConfirmChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const waiting = new Map<string, (reply: OsloReply) => void>();
  await channel.consume(
    queue,
    (message) => {
      if (message === null) return;
      const reply = readReply(message.content);
      waiting.get(reply.messageId)?.(reply);
    },
    { noAck: true },
  );
  let count = 0;
  const id = () => `${queue}-${++count}`;
  const send = async (to: string, key: string, content: Buffer) => {
    channel.publish(to, key, content, { contentType: 'application/json' });
    await channel.waitForConfirms();
  };
  return {
    async call(method, args, options = {}) {
      const { version = '4.5', namespace, context, monitorTimeoutS, onHeartbeat = () => {} } = options;
      const messageId = id();
      const answered = new Promise<OsloReply>((resolve) =>
        waiting.set(messageId, (reply) => (reply.isLast ? resolve(reply) : onHeartbeat())),
      );
      const replyTo = { queue, messageId, monitorTimeoutS };
      const request = { method, version, namespace, args: { ...args }, uniqueId: options.uniqueId ?? id(), replyTo };
      await send(exchange, options.topic ?? topic, writeRequest({ ...request, ...(context && { context }) }));
      const { failure, result } = await answered;
      waiting.delete(messageId);
      if (failure !== undefined) throw deserializeFailure(failure);
      return result;
    },
    async fanout(method, args, version = '4.5') {
      const request = { method, version, namespace: undefined, args: { ...args }, uniqueId: id(), replyTo: undefined };
      await send(`${topic}_fanout`, '', writeRequest(request));
    },
    publish: (content) => send(exchange, topic, content),
    close: () => model.close(),
  };
}
