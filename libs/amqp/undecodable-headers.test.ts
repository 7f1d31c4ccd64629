import { surviveUndecodableHeaders } from './undecodable-headers';

const HEADER_FRAME = 2;
const METHOD_FRAME = 1;

/** A source of frames, as amqplib's connection is, whose decoder throws after it has taken a frame. */
function sourceOf(...frames: Buffer[]) {
  const source = {
    rest: Buffer.concat(frames),
    recvFrame(): unknown {
      const size = 7 + source.rest.readUInt32BE(3) + 1;
      source.rest = source.rest.subarray(size);
      throw new RangeError('Maximum call stack size exceeded');
    },
  };
  surviveUndecodableHeaders({ connection: source } as never);
  return source;
}

function frame(type: number): Buffer {
  const bytes = Buffer.alloc(7 + 14 + 1);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt16BE(3, 1);
  bytes.writeUInt32BE(14, 3);
  bytes.writeUInt16BE(60, 7);
  bytes.writeBigUInt64BE(1_234n, 11);
  return bytes;
}

it('gives out a message whose headers can not be decoded without them, and goes on behind it', () => {
  const source = sourceOf(frame(HEADER_FRAME), Buffer.from('next'));
  expect(source.recvFrame()).toEqual({ id: 60, channel: 3, size: 1_234, fields: {} });
  expect(source.rest.toString()).toBe('next');
});

it('throws what is wrong with any other frame', () => {
  expect(() => sourceOf(frame(METHOD_FRAME)).recvFrame()).toThrow(RangeError);
});
