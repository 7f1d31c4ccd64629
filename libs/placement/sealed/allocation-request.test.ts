import * as fc from 'fast-check';
import type { AllocationRequest } from './allocation-request';
import { open, sealer } from './allocation-request';
import { refusePublishedKey } from './claim-key';

const KEY = 'a key of the fleet';
const request: AllocationRequest = {
  consumerUuid: 'c0000000-0000-4000-8000-000000000001',
  host: 'host-0042',
  allocations: { 'a0000000-0000-4000-8000-000000000001': { VCPU: 4, MEMORY_MB: 8192, DISK_GB: 40 } },
  projectId: 'project',
  userId: 'user',
  group: { id: 'web', policy: 'anti-affinity', maxPerHost: 2 },
  mappings: { '': ['a0000000-0000-4000-8000-000000000001'] },
};

const REFUSED = /^allocation_request_(forged|version)$/;

const seal = (sealable: AllocationRequest, key: string) => sealer(key)(sealable)(sealable);

it('opens to what was sealed', () => {
  expect(open(seal(request, KEY), KEY)).toEqual(request);
});

it('says what the host had in all, of the classes that it claims and that are known', () => {
  const capacities = { VCPU: 16, MEMORY_MB: 65_536, CUSTOM_OTHER: 3 };
  const known = { VCPU: 16, MEMORY_MB: 65_536 };
  expect(open(seal({ ...request, capacities }, KEY), KEY)).toEqual({ ...request, capacities: known });
  const grown = { VCPU: 32, MEMORY_MB: 65_536 };
  expect(open(seal({ ...request, capacities: grown }, KEY), KEY).capacities).toEqual(grown);
});

it.each([
  ['allocation_request.priority', { ...request, priority: 2 ** 31 }],
  ['allocation_request.ends_at_ms', { ...request, endsAtMs: 2 ** 53 }],
  ['allocation_request.capacities[0]', { ...request, capacities: { VCPU: 2 ** 53 } }],
])('seals no other %s than it was given', (field, wide) => {
  expect(() => seal(wide, KEY)).toThrow(expect.objectContaining({ reason: 'bad_number', details: { field } }));
});

it('keeps claimants and places apart that share allocations', () => {
  const places = [request, { ...request, host: 'host-0043' }, { ...request, mappings: {} }, request];
  const claimants = [request, { ...request, consumerUuid: 'c0000000-0000-4000-8000-000000000002', group: undefined }];
  for (const claimant of claimants) {
    const sealFor = sealer(KEY)(claimant);
    for (const { host, allocations, mappings } of places) {
      const { consumerUuid, projectId, userId, group } = claimant;
      const expected = { consumerUuid, projectId, userId, group, host, allocations, mappings };
      expect(open(sealFor({ host, allocations, mappings }), KEY)).toEqual(expected);
    }
  }
});

it('keeps the domains of a group that spreads, and the host’s own, also when the same host comes with another', () => {
  const group = { id: 'web', policy: 'soft-anti-affinity', maxPerHost: 1, spread: { by: 'rack', maxSkew: 2 } } as const;
  const claimant = {
    consumerUuid: request.consumerUuid,
    projectId: 'p',
    userId: 'u',
    group,
    spreadAmong: ['r1', 'r 2'],
  };
  const sealFor = sealer(KEY)(claimant);
  const { host, allocations, mappings } = request;
  for (const spreadDomain of ['r1', 'r 2', undefined]) {
    const place = { host, allocations, mappings, spreadDomain };
    expect(open(sealFor(place), KEY)).toEqual({ ...claimant, ...place });
  }
});

it('keeps the mapping of a group under any name that a client gives it', () => {
  const suffixes = ['_1', '__proto__', 'constructor'];
  const mappings = Object.fromEntries(suffixes.map((suffix) => [suffix, Object.keys(request.allocations)]));
  const opened = open(seal({ ...request, mappings }, KEY), KEY);
  expect(Object.entries(opened.mappings)).toEqual(Object.entries(mappings));
});

it('says when it was sealed, and by which revision of the store', () => {
  const sealing = { sealedAtMs: 1_700_000_000_123, storeRevision: 1_700_000_000_123_456 };
  expect(open(sealer(KEY, () => sealing)(request)(request), KEY)).toEqual({ ...request, ...sealing });
});

it('is small: under 160 bytes for three classes', () => {
  const stamp = { expiresAtMs: 1, sealedAtMs: 1_700_000_000_123, storeRevision: 1_700_000_000_123_456 };
  expect(sealer(KEY, () => stamp)(request)(request).length).toBeLessThan(160);
});

it('refuses a request after a change of any one byte', () => {
  const sealed = seal(request, KEY);
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ change;
      expect(() => open(changed, KEY)).toThrow(
        expect.objectContaining({ code: 'invalid_argument', reason: expect.stringMatching(REFUSED) }),
      );
    }),
  );
});

it('opens what any of its keys has sealed, so that keys are exchanged while requests are under way', () => {
  const [old, next] = ['the key until now', 'the key from now on'];
  const sealed = seal(request, old);
  for (const keys of [`${old},${next}`, `${next},${old}`]) expect(open(sealed, keys)).toEqual(request);
  expect(open(seal(request, `${next},${old}`), next)).toEqual(request);
  expect(() => open(sealed, next)).toThrow(expect.objectContaining({ reason: 'allocation_request_forged' }));
});

it('refuses a request that has expired, unless it is proof of what was selected', () => {
  const sealed = sealer(KEY, () => ({ expiresAtMs: 1_000_500 }))(request)(request);
  expect(open(sealed, KEY, 1_001_000)).toEqual(request);
  expect(open(sealed, KEY)).toEqual(request);
  expect(() => open(sealed, KEY, 1_001_001)).toThrow(expect.objectContaining({ reason: 'allocation_request_expired' }));
  expect(open(seal(request, KEY), KEY, Number.MAX_SAFE_INTEGER)).toEqual(request);
});

it.each([
  ['berth-claim-key-for-trying', ['memory:', 'redis://h']],
  ['a key of our own here,berth-claim-key-for-trying', ['amqp://h', 'memory:']],
])('refuses the published key on real servers: %s on %j', (key, urls) => {
  expect(() => refusePublishedKey(key, ...urls)).toThrow(expect.objectContaining({ reason: 'bad_config' }));
});

it.each([
  ['berth-claim-key-for-trying', ['memory:', 'memory:']],
  ['a key of our own here', ['amqp://h', 'redis://h']],
])('takes the key %s on %j', (key, urls) => {
  expect(() => refusePublishedKey(key, ...urls)).not.toThrow();
});

it('refuses bytes that were never sealed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(() => open(bytes, KEY)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    }),
  );
});

it('refuses a request sealed under another key', () => {
  expect(() => open(seal(request, 'another key'), KEY)).toThrow(
    expect.objectContaining({ reason: 'allocation_request_forged' }),
  );
});
