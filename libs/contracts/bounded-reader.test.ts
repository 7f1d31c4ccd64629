import { anEncodedSpec, aRequestSpec } from '../testing/instances/request-spec';
import { processorMs } from '../testing/processor-time';
import type { Codec } from './codec';
import { buildRequestCodec, requestIdOf } from './conductor';
import { explainMethod } from './diagnosis';
import { createFlavorMethod } from './flavors';
import { claimMovesMethod } from './moves';
import { requestSpecCodec } from './request-spec';
import { updateResourceStatsMethod } from './stats';

const MEGABYTE = 1_048_576;

/** So many bytes of one field again and again, each time with this content. */
function repeated(field: number, content: Uint8Array | readonly number[], bytes: number): Buffer {
  const one = Buffer.from([(field << 3) | 2, content.length, ...content]);
  return Buffer.alloc(Math.floor(bytes / one.length) * one.length, one);
}

const bombs: readonly (readonly [string, Codec<unknown>, Buffer])[] = [
  ['empty moves', claimMovesMethod.request, repeated(1, [], 4 * MEGABYTE)],
  ['moves with empty specs', claimMovesMethod.request, repeated(1, [0x12, 0], 4 * MEGABYTE)],
  ['moves within one embedded message after another', claimMovesMethod.request, nested(4 * MEGABYTE)],
  ['empty destinations', buildRequestCodec, repeated(9, [], 4 * MEGABYTE)],
  ['one embedded message again and again', buildRequestCodec, repeated(8, [], 4 * MEGABYTE)],
  ['one spec again and again', buildRequestCodec, repeated(2, [], 4 * MEGABYTE)],
  ['one spec again and again in a question', explainMethod.request, repeated(1, [], 4 * MEGABYTE)],
  ['empty request groups', requestSpecCodec, repeated(18, [], 4 * MEGABYTE)],
  ['empty entries of a map', requestSpecCodec, repeated(3, [], 4 * MEGABYTE)],
  ['empty entries of resources', createFlavorMethod.request, repeated(3, [], 4 * MEGABYTE)],
  ['empty instances', updateResourceStatsMethod.request, repeated(13, [], 4 * MEGABYTE)],
  ['unknown fields', claimMovesMethod.request, repeated(15, [], 4 * MEGABYTE)],
  ['embedded messages without an end', claimMovesMethod.request, Buffer.alloc(4 * MEGABYTE, 0x0b)],
];

/** An embedded message at the deepest place that the schema has, very often. */
function nested(bytes: number): Buffer {
  return repeated(1, [0x12, 3, 0x92, 0x01, 0], bytes);
}

it.each(bombs)('decodes 4 MB of %s at a cost of their bytes, or refuses them', (_name, codec, body) => {
  const before = process.memoryUsage();
  const [thrown, firstMs] = decodeTimed(codec, body);
  const after = process.memoryUsage();
  // The compiler and the collector of the whole test process count in it: the quicker of two.
  const tookMs = Math.min(firstMs, decodeTimed(codec, body)[1]);
  const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
  expect(thrown).toEqual(expect.objectContaining({ code: 'invalid_argument' }));
  expect(bytes).toBeLessThan(120 * MEGABYTE);
  expect(tookMs).toBeLessThan(1_000);
});

/** The error of decoding a body, and the processor time that it took, in milliseconds. */
function decodeTimed(codec: Codec<unknown>, body: Buffer): readonly [unknown, number] {
  const started = process.cpuUsage();
  try {
    codec.decode(body);
    return [undefined, processorMs(started)];
  } catch (thrown) {
    return [thrown, processorMs(started)];
  }
}

it('decodes a large message of texts as ever', () => {
  const imageProperties = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`key-${n}`, 'v'.repeat(500)]));
  const spec = requestSpecCodec.decode(requestSpecCodec.encode(aRequestSpec({ imageProperties })));
  expect(Object.keys(spec.imageProperties)).toHaveLength(900);
});

it('reads the id of a request that is refused, whatever else is in it', () => {
  const requestId = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
  const request = { requestId, requestSpec: anEncodedSpec(), count: 1, name: '', instanceUuids: [], minCount: 0 };
  const bomb = Buffer.concat([buildRequestCodec.encode(request), repeated(9, [], MEGABYTE)]);
  expect(() => buildRequestCodec.decode(bomb)).toThrow(expect.objectContaining({ reason: 'too_many' }));
  expect(requestIdOf(bomb)).toBe(requestId);
  expect(requestIdOf(repeated(1, [], MEGABYTE))).toBe('');
});
