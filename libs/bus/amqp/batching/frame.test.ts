import * as fc from 'fast-check';
import { BerthError } from '../../../domain/errors';
import { fitsInFrame, frameCodec, inFrames, MAX_FRAME_BYTES, MAX_FRAME_MESSAGES } from './frame';
import { FrameBatches } from './frame-batches';

describe('frames', () => {
  it('keep the order of their items, and the limits unless one item is above them', () => {
    const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(2 * MAX_FRAME_BYTES)), { maxLength: 200, size: 'max' });
    const keepLimits = (items: readonly number[]) => {
      const frames = [...inFrames(items, (bytes) => bytes)];
      expect(frames.flat()).toEqual(items);
      for (const frame of frames) {
        expect(frame.length).toBeGreaterThan(0);
        expect(frame.length).toBeLessThanOrEqual(MAX_FRAME_MESSAGES);
        const bytes = frame.reduce((sum, item) => sum + item, 0);
        expect(frame.length === 1 || bytes <= MAX_FRAME_BYTES).toBe(true);
      }
    };
    fc.assert(fc.property(sizes, keepLimits));
  });

  it('leave at the end of the tick, those of each key for themselves', async () => {
    const sent: string[] = [];
    const batches = new FrameBatches<string>(
      () => 0,
      (items) => sent.push(items.join(' ')),
    );
    batches.add('a', 'a1');
    batches.add('b', 'b2');
    batches.add('a', 'a3');
    await Promise.resolve().then(() => batches.add('a', 'a4'));
    expect(sent).toEqual([]);
    await new Promise(setImmediate);
    expect(sent).toEqual(['a1 a3 a4', 'b2']);
    batches.add('a', 'a5');
    expect(batches.size).toBe(1);
    batches.flush();
    expect(batches.size).toBe(0);
    expect(sent).toEqual(['a1 a3 a4', 'b2', 'a5']);
  });

  it('are of messages that could go alone', () => {
    const message = { type: 't', messageId: 'm' };
    const longest = 'x'.repeat(255);
    for (const property of ['type', 'messageId', 'correlationId', 'appId']) {
      expect(fitsInFrame({ ...message, [property]: longest })).toBe(true);
      expect(fitsInFrame({ ...message, [property]: `é${longest.slice(1)}` })).toBe(false);
    }
    expect(fitsInFrame({ ...message, type: frameCodec.type })).toBe(false);
  });
});

describe('on the wire', () => {
  const body = fc.uint8Array();
  const text = fc.string();

  it('messages come out as they went in', () => {
    const message = fc.record({
      type: text,
      messageId: text,
      correlationId: text,
      appId: text,
      traceparent: text,
      body,
    });
    const messages = fc.array(message, { minLength: 1, maxLength: MAX_FRAME_MESSAGES });
    fc.assert(
      fc.property(messages, (sent) => {
        expect(frameCodec.decode(frameCodec.encode(sent)).map(plain)).toEqual(sent.map(plain));
      }),
    );
  });

  it('bytes that are no frame are refused with a reason', () => {
    const outcome = (bytes: Uint8Array) => {
      try {
        return frameCodec.decode(bytes).length > 0 ? 'a frame' : 'nothing';
      } catch (error) {
        return BerthError.from(error).code;
      }
    };
    fc.assert(fc.property(body, (bytes) => expect(['a frame', 'invalid_argument']).toContain(outcome(bytes))));
  });

  /** A copy without prototypes: fields missing on the wire read as their defaults there. */
  function plain(item: object): object {
    const fields: Record<string, unknown> = {};
    for (const name of ['type', 'messageId', 'correlationId', 'appId', 'body']) {
      const value = (item as Record<string, unknown>)[name];
      fields[name] = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value ?? '');
    }
    return fields;
  }
});
