import * as fc from 'fast-check';
import { answersCodec, MAX_PACKED, packCodec } from '../../contracts/pack';
import type { Codec } from '../../contracts/rpc';
import { BerthError } from '../../domain/errors';
import { fitsInPack, MAX_PACK_BYTES, Packs, packsOf } from './packs';

describe('packs', () => {
  it('keep the order of their items, and the limits unless one item is above them', () => {
    const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(2 * MAX_PACK_BYTES)), { maxLength: 200, size: 'max' });
    const keepLimits = (lengths: readonly number[]) => {
      const items = lengths.map((length) => ({ body: { length } as Uint8Array }));
      const packs = [...packsOf(items)];
      expect(packs.flat()).toEqual(items);
      for (const pack of packs) {
        expect(pack.length).toBeGreaterThan(0);
        expect(pack.length).toBeLessThanOrEqual(MAX_PACKED);
        const bytes = pack.reduce((sum, item) => sum + item.body.length, 0);
        expect(pack.length === 1 || bytes <= MAX_PACK_BYTES).toBe(true);
      }
    };
    fc.assert(fc.property(sizes, keepLimits));
  });

  it('leave at the end of the turn, those of each way for themselves', async () => {
    const sent: string[] = [];
    const packs = new Packs<{ body: Uint8Array; name: string }>((way, pack) =>
      sent.push(`${way}: ${pack.map(({ name }) => name).join(' ')}`),
    );
    const add = (way: string, name: string) => packs.add(way, { name, body: new Uint8Array() });
    add('a', '1');
    add('b', '2');
    add('a', '3');
    await Promise.resolve().then(() => add('a', '4'));
    expect(sent).toEqual([]);
    await new Promise(setImmediate);
    expect(sent).toEqual(['a: 1 3 4', 'b: 2']);
    add('a', '5');
    expect(packs.size).toBe(1);
    packs.flush();
    expect(packs.size).toBe(0);
    expect(sent).toHaveLength(3);
  });

  it('are of messages that could go alone', () => {
    const message = { type: 't', messageId: 'm', correlationId: '', sender: '', body: new Uint8Array() };
    const longest = 'x'.repeat(255);
    for (const property of ['type', 'messageId', 'correlationId', 'sender']) {
      expect(fitsInPack({ ...message, [property]: longest })).toBe(true);
      expect(fitsInPack({ ...message, [property]: `é${longest.slice(1)}` })).toBe(false);
    }
    expect(fitsInPack({ ...message, type: packCodec.type })).toBe(false);
  });
});

describe('on the wire', () => {
  const body = fc.uint8Array();
  const text = fc.string();

  it('calls and answers come out as they went in', () => {
    const call = fc.record({ type: text, messageId: text, correlationId: text, sender: text, body });
    const answer = fc.record({ correlationId: text, type: text, body });
    const calls = fc.array(call, { minLength: 1, maxLength: MAX_PACKED });
    const comesBack = <T extends object>(codec: Codec<readonly T[]>) => {
      return (pack: readonly T[]) => expect(codec.decode(codec.encode(pack)).map(plain)).toEqual(pack.map(plain));
    };
    fc.assert(fc.property(calls, comesBack(packCodec)));
    fc.assert(fc.property(fc.array(answer), comesBack(answersCodec)));
  });

  it('bytes that are no pack are refused with a reason', () => {
    const outcome = (bytes: Uint8Array) => {
      try {
        return packCodec.decode(bytes).length > 0 ? 'a pack' : 'nothing';
      } catch (error) {
        return BerthError.from(error).code;
      }
    };
    fc.assert(fc.property(body, (bytes) => expect(['a pack', 'invalid_argument']).toContain(outcome(bytes))));
  });

  /** Without the prototypes: what the wire leaves out reads as its default there. */
  function plain(item: object): object {
    const fields: Record<string, unknown> = {};
    for (const name of ['type', 'messageId', 'correlationId', 'sender', 'body']) {
      const value = (item as Record<string, unknown>)[name];
      fields[name] = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value ?? '');
    }
    return fields;
  }
});
