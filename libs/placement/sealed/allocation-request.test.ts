import * as fc from 'fast-check';
import type { AllocationRequest } from './allocation-request';
import { open, sealer } from './allocation-request';

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

const seal = (sealable: AllocationRequest, key: string) => sealer(key)(sealable)(sealable);

it('opens to what was sealed', () => {
  expect(open(seal(request, KEY), KEY)).toEqual(request);
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

it('keeps the mapping of a group under any name that a client gives it', () => {
  const suffixes = ['_1', '__proto__', 'constructor'];
  const mappings = Object.fromEntries(suffixes.map((suffix) => [suffix, Object.keys(request.allocations)]));
  const opened = open(seal({ ...request, mappings }, KEY), KEY);
  expect(Object.entries(opened.mappings)).toEqual(Object.entries(mappings));
});

it('is small: under 160 bytes for three classes', () => {
  expect(seal(request, KEY).length).toBeLessThan(160);
});

it('refuses a request after a change of any one byte', () => {
  const sealed = seal(request, KEY);
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ change;
      const reason = at === 0 ? 'allocation_request_version' : 'allocation_request_forged';
      expect(() => open(changed, KEY)).toThrow(expect.objectContaining({ code: 'invalid_argument', reason }));
    }),
  );
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
