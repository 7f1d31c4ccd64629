import { Hash, Hmac } from 'node:crypto';
import { chosenUuid, uuid } from '#libs/contracts/checks';
import { namesOf as namesBy } from './idempotency';

const SECRET = 'a claim key of this fleet';
const namesOf = (projectId: string, key: string, asked: unknown, count: number) =>
  namesBy(SECRET, { projectId, key, body: asked, count });
const body = { name: 'web', resources: { VCPU: 1, MEMORY_MB: 64 } };

it('names a copy of a request as the first one, whatever the order of its fields', () => {
  const copy = { resources: { MEMORY_MB: 64, VCPU: 1 }, name: 'web' };
  expect(namesOf('shop', 'order-1', copy, 3)).toEqual(namesOf('shop', 'order-1', body, 3));
});

it("gives two projects different names for the same key, so none stands for the other's", () => {
  expect(namesOf('shop', 'order-1', body, 1).requestId).not.toBe(namesOf('search', 'order-1', body, 1).requestId);
  expect(namesOf('a', 'b\u0021', body, 1).requestId).not.toBe(namesOf('a!', 'b', body, 1).requestId);
});

it('gives names that nobody can guess who lacks the secret', () => {
  const ours = namesOf('shop', 'order-1', body, 2);
  const guessed = namesBy('another key', { projectId: 'shop', key: 'order-1', body, count: 2 });
  expect(guessed.requestId).not.toBe(ours.requestId);
  expect(guessed.instanceUuids.filter((one) => ours.instanceUuids.includes(one))).toEqual([]);
});

it('gives another request under the same key other instances', () => {
  const first = namesOf('shop', 'order-1', body, 2);
  const other = namesOf('shop', 'order-1', { ...body, name: 'db' }, 2);
  expect(other.requestId).toBe(first.requestId);
  expect(first.instanceUuids.filter((one) => other.instanceUuids.includes(one))).toEqual([]);
});

it('gives UUIDs that clients may choose', () => {
  const { requestId, instanceUuids } = namesOf('shop', 'order-1', body, 50);
  expect(new Set(instanceUuids).size).toBe(50);
  for (const one of instanceUuids) expect(chosenUuid(one, 'uuid')).toBe(one);
  expect(uuid(requestId, 'id')).toBe(requestId);
});

it('reads the content once, however many instances it names', () => {
  const updates = [Hash, Hmac].map((one) => jest.spyOn(one.prototype, 'update'));
  const content = { ...body, image_properties: { a: 'x'.repeat(100_000) } };
  namesOf('shop', 'order-1', content, 1_000);
  const hashed = updates.flatMap(({ mock }) => mock.calls).reduce((sum, [data]) => sum + data.length, 0);
  expect(hashed).toBeGreaterThan(100_000);
  expect(hashed).toBeLessThan(500_000);
});

it.each(['', 'two words', 'ü', 'x'.repeat(256)])('refuses the key "%s"', (key) => {
  expect(() => namesOf('shop', key, body, 1)).toThrow(expect.objectContaining({ reason: 'bad_idempotency_key' }));
});
