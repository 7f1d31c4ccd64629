import * as fc from 'fast-check';
import { berth } from '#generated/berth';
import { anEncodedSpec } from '../testing/instances/request-spec';
import { buildRequestCodec } from './conductor';
import { cutField } from './opaque-field';
import { requestSpecCodec } from './request-spec';
import { selectDestinationsMethod } from './selection';

const wire = berth.scheduler.v1;
const { request } = selectDestinationsMethod;
const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';

const spec = fc.record({
  projectId: fc.string(),
  userId: fc.string(),
  resources: fc.dictionary(fc.constantFrom('VCPU', 'DISK_GB'), fc.nat()),
});
const message = fc.record({
  requestId: fc.string(),
  requestSpec: fc.option(spec),
  instanceUuids: fc.array(fc.uuid()),
  numAlternates: fc.nat(9),
});

const empty = { requestId: '', requestSpec: null, instanceUuids: [], numAlternates: 0 };

/** Each field of the message by itself: what stands in them may come in any order, in any number of pieces. */
function piecesOf({
  requestId,
  requestSpec,
  instanceUuids,
  numAlternates,
}: typeof message extends fc.Arbitrary<infer T> ? T : never) {
  const pieces = [{ requestId }, { numAlternates }, ...instanceUuids.map((uuid) => ({ instanceUuids: [uuid] }))];
  const parts = requestSpec
    ? Object.entries(requestSpec).map(([name, value]) => ({ requestSpec: { [name]: value } }))
    : [];
  return [...pieces, ...parts].map((piece) => wire.SelectDestinationsRequest.encode({ ...empty, ...piece }).finish());
}

it('cuts out of any message what the generated decoder reads, and leaves the rest', () => {
  const shuffled = message.chain((value) =>
    fc.tuple(fc.constant(value), fc.shuffledSubarray(piecesOf(value), { minLength: piecesOf(value).length })),
  );
  fc.assert(
    fc.property(shuffled, ([, pieces]) => {
      const body = Buffer.concat(pieces);
      const whole = wire.SelectDestinationsRequest.decode(body);
      const { field, rest } = cutField(body, 2);
      expect(field && wire.RequestSpec.decode(field)).toEqual(whole.requestSpec ?? undefined);
      const others = wire.SelectDestinationsRequest.decode(rest);
      expect(others.requestSpec).toBeNull();
      const plain = ({ requestId, instanceUuids, numAlternates }: typeof whole) => [
        requestId,
        instanceUuids,
        numAlternates,
      ];
      expect(plain(others)).toEqual(plain(whole));
    }),
  );
});

it('is read the same whether Berth or the generated encoder wrote it', () => {
  const requestSpec = anEncodedSpec({ requiredTraits: ['HW_CPU_X86_AVX2'] });
  const priority = { priority: -3, isProtected: true, mayPreempt: true, minRevision: 7 };
  const value = { requestId: UUID, requestSpec, instanceUuids: [UUID], numAlternates: 2, minCount: 0, ...priority };
  const generated = wire.SelectDestinationsRequest.encode({
    ...value,
    requestSpec: wire.RequestSpec.decode(requestSpec),
  }).finish();
  for (const body of [generated, new Uint8Array(generated), request.encode(value)]) {
    const decoded = request.decode(body);
    expect({ ...decoded, requestSpec: Buffer.from(decoded.requestSpec) }).toEqual({
      ...value,
      requestSpec: Buffer.from(requestSpec),
    });
    expect(wire.SelectDestinationsRequest.decode(body).requestSpec?.requiredTraits).toEqual(['HW_CPU_X86_AVX2']);
  }
});

it('merges a spec that stands twice in a message, as protobuf says', () => {
  const body = (requestSpec: Uint8Array) =>
    buildRequestCodec.encode({ requestId: UUID, requestSpec, count: 1, name: '', instanceUuids: [] });
  const small = anEncodedSpec({ resources: { VCPU: 1, MEMORY_MB: 64 }, requiredTraits: ['HW_CPU_X86_AVX2'] });
  const large = anEncodedSpec({ resources: { VCPU: 8 }, requiredTraits: ['COMPUTE_NODE'] });
  const twice = requestSpecCodec.decode(
    buildRequestCodec.decode(Buffer.concat([body(small), body(large)])).requestSpec,
  );
  expect(twice.resources).toEqual({ VCPU: 8, MEMORY_MB: 64 });
  expect(twice.requiredTraits).toEqual(['HW_CPU_X86_AVX2', 'COMPUTE_NODE']);
});

it('refuses a message without a spec', () => {
  const body = wire.SelectDestinationsRequest.encode({ ...empty, requestId: UUID, instanceUuids: [UUID] }).finish();
  expect(() => request.decode(body)).toThrow(
    expect.objectContaining({ reason: 'missing_field', details: { field: 'request_spec' } }) as Error,
  );
});

it('refuses a message that is cut off inside the spec', () => {
  const value = { requestId: UUID, requestSpec: anEncodedSpec(), instanceUuids: [UUID], numAlternates: 2 };
  expect(() => request.decode(request.encode(value).subarray(0, -1))).toThrow(
    expect.objectContaining({ code: 'invalid_argument', reason: 'malformed_message' }) as Error,
  );
});
