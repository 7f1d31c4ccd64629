import { aRequestSpec } from '../testing/request-spec';
import { buildRequestCodec } from './conductor';
import { requestSpecCodec } from './request-spec';
import { selectDestinationsMethod } from './selection';

const { request } = selectDestinationsMethod;
const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const small = aRequestSpec({ resources: { VCPU: 1, MEMORY_MB: 64 }, requiredTraits: ['HW_CPU_X86_AVX2'] });
const large = aRequestSpec({ resources: { VCPU: 8 }, requiredTraits: ['COMPUTE_NODE'] });

const asked = (spec = small, requestId = UUID) =>
  request.encode({ requestId, requestSpec: spec, instanceUuids: [UUID], numAlternates: 2 });

const ordered = (requestSpec = small) =>
  buildRequestCodec.encode({ requestId: UUID, requestSpec, count: 1, name: '', instanceUuids: [] });

it('gives the same spec for the same bytes, whatever message brings them', () => {
  const first = request.decode(asked(small, UUID.replace('5', '6'))).requestSpec;
  expect(first).toEqual(small);
  expect(request.decode(asked()).requestSpec).toBe(first);
  expect(buildRequestCodec.decode(ordered(small)).requestSpec).toBe(first);
  expect(requestSpecCodec.decode(requestSpecCodec.encode(small))).toBe(first);
  expect(request.decode(asked(large)).requestSpec).toEqual(large);
});

it('merges a spec that stands twice in a message, as protobuf says, and leaves the one that it keeps as it was', () => {
  request.decode(asked());
  const twice = buildRequestCodec.decode(Buffer.concat([ordered(small), ordered(large)])).requestSpec;
  expect(twice.resources).toEqual({ VCPU: 8, MEMORY_MB: 64 });
  expect(twice.requiredTraits).toEqual(['HW_CPU_X86_AVX2', 'COMPUTE_NODE']);
  expect(request.decode(asked()).requestSpec).toEqual(small);
});

it('decodes what is too large to be kept, and refuses what is cut off, each time', () => {
  const wide = aRequestSpec({
    extraSpecs: Object.fromEntries([...Array(90).keys()].map((n) => [`key-${n}`, 'x'.repeat(40)])),
  });
  const bytes = asked(wide);
  for (const _ of [1, 2]) {
    expect(request.decode(bytes).requestSpec).toEqual(wide);
    expect(() => requestSpecCodec.decode(requestSpecCodec.encode(small).subarray(0, -1))).toThrow('is no berth');
  }
});
