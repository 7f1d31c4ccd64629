import type { ChannelModel } from 'amqplib';

/** A frame of AMQP 0-9-1: its type, its channel, the length of its payload. In a header's payload: class, weight, size of the body. */
const CHANNEL_AT = 1;
const PAYLOAD_AT = 7;
const BODY_SIZE_AT = PAYLOAD_AT + 4;
const HEADER_FRAME = 2;

/** The part of amqplib's connection that takes frames, which its types leave out. */
interface FrameSource {
  /** Bytes read that form no whole frame yet. */
  readonly rest: Buffer;
  recvFrame(): unknown;
}

/**
 * Gives out a message whose properties amqplib can not decode, without them: nobody's, and so a dead letter.
 *
 * Headers may hold arrays in arrays, some ten thousand deep within one frame, for which the decoder's stack is too small; the broker
 * minds neither that nor types of values that amqplib does not know. The naive way lets the connection break. Then the broker gives
 * the message to the next process, whose connection breaks, too, and nobody is served until the queue is purged.
 */
export function surviveUndecodableHeaders({ connection }: Pick<ChannelModel, 'connection'>): void {
  const source = connection as unknown as FrameSource;
  const receive = source.recvFrame.bind(source);
  source.recvFrame = () => {
    const unread = source.rest;
    try {
      return receive();
    } catch (error) {
      const isWhole = source.rest !== unread;
      if (!isWhole || unread[0] !== HEADER_FRAME) throw error;
      return {
        id: unread.readUInt16BE(PAYLOAD_AT),
        channel: unread.readUInt16BE(CHANNEL_AT),
        size: Number(unread.readBigUInt64BE(BODY_SIZE_AT)),
        fields: {},
      };
    }
  };
}
