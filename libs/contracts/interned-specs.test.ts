import { anEncodedSpec, aRequestSpec } from '../testing/instances/request-spec';
import { internedSpecs } from './interned-specs';

const group = { id: 'group-1', policy: 'affinity', maxPerHost: 1 } as const;

it('makes one object of equal bytes, wherever they stand, and another of other bytes', () => {
  const specOf = internedSpecs((spec) => spec);
  const small = specOf(anEncodedSpec());
  expect(small).toEqual(aRequestSpec());
  expect(specOf(new Uint8Array(Buffer.concat([Uint8Array.of(7), anEncodedSpec()])).subarray(1))).toBe(small);
  expect(specOf(anEncodedSpec({ resources: { VCPU: 8 } }))).not.toBe(small);
  expect(specOf(anEncodedSpec())).toBe(small);
});

it('makes what nobody can change', () => {
  const specOf = internedSpecs((spec) => ({ spec, names: ['a'] }));
  const { spec, names } = specOf(anEncodedSpec({ group, memberOf: [['5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab']] }));
  for (const part of [spec, spec.resources, spec.group, spec.memberOf, spec.memberOf[0], names]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

it('makes large ones anew each time, as well checked', () => {
  const extraSpecs = Object.fromEntries([...Array(90).keys()].map((n) => [`key-${n}`, 'x'.repeat(40)]));
  const specOf = internedSpecs((spec) => spec);
  const [first, second] = [specOf(anEncodedSpec({ extraSpecs })), specOf(anEncodedSpec({ extraSpecs }))];
  expect(first).toEqual(aRequestSpec({ extraSpecs }));
  expect(second).not.toBe(first);
  expect(Object.isFrozen(first)).toBe(true);
});

it('refuses a malformed spec each time, with the field to blame', () => {
  const specOf = internedSpecs((spec) => spec);
  for (const _ of [1, 2]) {
    expect(() => specOf(anEncodedSpec({ resources: { VCPU: 0 } }))).toThrow(
      expect.objectContaining({ reason: 'bad_amount', details: { field: 'request_spec.resources.VCPU' } }) as Error,
    );
    expect(() => specOf(anEncodedSpec().subarray(0, -1))).toThrow('is no berth');
  }
});
