import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Field, type NamespaceBase, parse, Root, Type } from 'protobufjs';
import { type Reader, Writer } from 'protobufjs/minimal';
import { berth } from '#generated/berth';
import { anEncodedSpec } from '../testing/instances/request-spec';
import { buildRequestCodec } from './conductor';
import { exactlyWritten, exactReader, UnfitNumber } from './exact-numbers';
import { requestSpecCodec } from './request-spec';

const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const UNFIT: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31, -(2 ** 31) - 1, Number.NaN],
  sint32: [2 ** 31, -(2 ** 31) - 1, Infinity],
  uint32: [2 ** 32, -1],
  int64: [2 ** 53, -(2 ** 53)],
  uint64: [2 ** 53, -1],
};
const NO_INTEGERS = ['string', 'bytes', 'bool', 'double'];
/** Needs 64 bits, of which a number holds 53 exactly. */
const WIDE = 2n ** 62n + 1n;

interface GeneratedClass {
  encode(properties: object, writer: Writer): Writer;
  decode(reader: Reader): object;
}

/** Fields of the schema that are numbers, with the generated class of their message. */
function numbers(): readonly { readonly field: Field; readonly type: string; readonly wire: GeneratedClass }[] {
  const folder = join(__dirname, '../../proto');
  const root = new Root();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (/^berth.*\.proto$/.test(path) && !path.includes('/options/'))
      parse(readFileSync(join(folder, path), 'utf8'), root);
  }
  root.resolveAll();
  const typesIn = (space: NamespaceBase): Type[] =>
    space.nestedArray.flatMap((one) => [
      ...(one instanceof Type ? [one] : []),
      ...('nestedArray' in one ? typesIn(one as NamespaceBase) : []),
    ]);
  return typesIn(root).flatMap(({ fullName, fieldsArray }) => {
    const path = fullName.split('.').slice(2);
    const wire = path.reduce<unknown>((space, key) => (space as Record<string, unknown>)[key], berth);
    return fieldsArray
      .filter((field) => !(field.resolvedType instanceof Type))
      .map((field) => ({ field, type: field.resolvedType ? 'int32' : field.type, wire: wire as GeneratedClass }))
      .filter(({ type }) => !NO_INTEGERS.includes(type));
  });
}

it('writes no number of any field of the schema that its type does not hold', () => {
  for (const { field, type, wire } of numbers()) {
    for (const value of UNFIT[type] ?? []) {
      const held = field.map ? { key: value } : field.repeated ? [value] : value;
      const write = () => exactlyWritten(wire, { [field.name]: held });
      expect([field.fullName, thrownBy(write)]).toEqual([
        field.fullName,
        expect.objectContaining({ reason: 'bad_number' }),
      ]);
    }
  }
});

it('reads no number of any field of the schema that its type does not hold', () => {
  for (const { field, wire } of numbers()) {
    const value = Writer.create().uint32(field.map ? 16 : field.id << 3);
    const bytes = Buffer.concat([value.finish(), varint(WIDE)]);
    const body = field.map
      ? Writer.create()
          .uint32((field.id << 3) | 2)
          .bytes(bytes)
          .finish()
      : bytes;
    const read = () => wire.decode(exactReader(body));
    expect([field.fullName, thrownBy(read)]).toEqual([field.fullName, expect.any(UnfitNumber)]);
  }
});

it('reads what each type holds at most', () => {
  const { Admission } = berth.conductor.v1;
  for (const priority of [2 ** 31 - 1, -(2 ** 31)]) {
    const body = exactlyWritten(Admission, { priority }).finish();
    expect(Admission.decode(exactReader(body)).priority).toBe(priority);
  }
  const { BuildRequest } = berth.conductor.v1;
  const most = { count: 2 ** 32 - 1, publishedAtMs: Number.MAX_SAFE_INTEGER, onLoss: -1 };
  expect(BuildRequest.decode(exactReader(exactlyWritten(BuildRequest, most as object).finish()))).toMatchObject(most);
});

const refusal = (field: string) =>
  expect.objectContaining({ code: 'invalid_argument', reason: 'bad_number', details: { field } }) as Error;
const members = (count: number) => ({ requestSpec: anEncodedSpec(), count, minCount: 0 });
const request = {
  requestId: UUID,
  requestSpec: anEncodedSpec(),
  name: 'web',
  count: 1,
  instanceUuids: [],
  publishedAtMs: 0,
};

it.each([
  ['count', { count: 2 ** 32 + 1 }],
  ['published_at_ms', { publishedAtMs: 2 ** 60 }],
  ['admission.wait_for_capacity_ms', { admission: { waitForCapacityMs: -1 } }],
  ['further_members[1].count', { furtherMembers: [members(1), members(2 ** 32)] }],
])('names %s when it is not written', (field, fields) => {
  expect(() => buildRequestCodec.encode({ ...request, ...fields } as never)).toThrow(refusal(field));
});

it('names the key of a map', () => {
  const spec = requestSpecCodec.decode(anEncodedSpec());
  const more = { ...spec, resources: { ...spec.resources, MEMORY_MB: 2 ** 60 } };
  expect(() => requestSpecCodec.encode(more)).toThrow(refusal('request_spec.resources.MEMORY_MB'));
});

it('names the field of a body that it does not read', () => {
  const admission = Buffer.concat([Writer.create().uint32(8).finish(), varint(WIDE)]);
  const body = Writer.create()
    .uint32((8 << 3) | 2)
    .bytes(admission)
    .finish();
  const whole = Buffer.concat([buildRequestCodec.encode(request), body]);
  expect(() => buildRequestCodec.decode(whole)).toThrow(refusal('admission.priority'));
});

it('takes a body that is none behind such a number for malformed', () => {
  const body = Buffer.concat([Writer.create().uint32(24).finish(), varint(WIDE), Buffer.from([0])]);
  expect(() => buildRequestCodec.decode(body)).toThrow(
    expect.objectContaining({ reason: 'malformed_message' }) as Error,
  );
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest <= 127n) return Buffer.from(bytes);
  }
}
