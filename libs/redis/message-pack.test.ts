import { type Packable, packMessage } from './message-pack';

/*
 * Bytes by the specification of MessagePack (`test/integration/store/message-pack.test.ts`: what Redis reads of them).
 */

it.each<[name: string, value: Packable, bytes: string]>([
  ['zero', 0, '00'],
  ['the largest fixint', 127, '7f'],
  ['the smallest uint 32 that is used', 128, 'ce00000080'],
  ['the largest uint 32', 4_294_967_295, 'ceffffffff'],
  ['the first number beyond', 4_294_967_296, 'cb41f0000000000000'],
  ['the largest safe integer', Number.MAX_SAFE_INTEGER, 'cb433fffffffffffff'],
  ['a negative number', -1, 'cbbff0000000000000'],
  ['a fraction', 0.1, 'cb3fb999999999999a'],
  ['true', true, 'c3'],
  ['false', false, 'c2'],
  ['no text', '', 'a0'],
  ['the longest short string', 'a'.repeat(31), `bf${'61'.repeat(31)}`],
  ['the shortest long string', 'a'.repeat(32), `db00000020${'61'.repeat(32)}`],
  ['a string counted in bytes', 'ü'.repeat(16), `db00000020${'c3bc'.repeat(16)}`],
  ['an astral character', '𝛽', 'a4f09d9bbd'],
  ['half a surrogate pair', '\ud835', 'a3efbfbd'],
  ['an empty list', [], 'dd00000000'],
  ['nested lists', [1, ['a'], false], 'dd0000000301dd00000001a161c2'],
])('packs %s', (_, value, bytes) => {
  expect(packMessage(value).toString('hex')).toBe(bytes);
});

it('gives each message bytes of its own, however long the ones before', () => {
  const long = packMessage(['x'.repeat(300_000), 1]);
  const short = packMessage('a');
  expect(long.subarray(0, 10).toString('hex')).toBe('dd00000002db000493e0');
  expect([long.length, long.at(-1)]).toEqual([300_011, 1]);
  expect(short.toString('hex')).toBe('a161');
});
