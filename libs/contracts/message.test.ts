import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NamespaceBase, parse, Root, Type } from 'protobufjs';
import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { name, uuid, whole } from './checks';
import { snakeCase } from './compile-message';
import { count, enumOf, list, omittable, optional, orUndefined, renamed } from './fields';
import { message } from './message';

const wire = berth.scheduler.v1;
const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const refusal = (reason: string, field: string) => expect.objectContaining({ reason, details: { field } }) as Error;

/** All messages of the schema, their fields called as there. */
function schema(): readonly Type[] {
  const folder = join(__dirname, '../../proto');
  const root = new Root();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (/^berth.*\.proto$/.test(path) && !path.includes('/options/'))
      parse(readFileSync(join(folder, path), 'utf8'), root, { keepCase: true });
  }
  const typesIn = (space: NamespaceBase): Type[] =>
    space.nestedArray.flatMap((one) => [
      ...(one instanceof Type ? [one] : []),
      ...('nestedArray' in one ? typesIn(one as NamespaceBase) : []),
    ]);
  return typesIn(root);
}

/** The prototype of a generated class: its fields, with their defaults. */
function generated(fullName: string): object {
  const path = fullName.split('.').slice(2);
  const found = path.reduce<unknown>((space, key) => (space as Record<string, unknown>)[key], berth);
  return (found as { readonly prototype: object }).prototype;
}

it('calls fields in errors as the schema does, whatever the field', () => {
  const inSchema = schema().map(({ fullName, fieldsArray }) => [fullName, fieldsArray.map((one) => one.name)]);
  const inErrors = schema().map(({ fullName }) => {
    const fields = Object.keys(generated(fullName)).filter((key) => key !== 'toJSON');
    return [fullName, fields.map(snakeCase)];
  });
  expect(inErrors).toEqual(inSchema);
});

describe('a message', () => {
  const power = enumOf(wire.PowerState, 'POWER_STATE');
  const move = message(wire.Move, { migrationUuid: uuid, claimToken: whole, sourceHost: name });
  const claimed = message(
    wire.MoveToClaim,
    { instanceUuid: uuid, requestSpec: optional(anySpec()), move: orUndefined(move) },
    { path: 'moved', check: ({ instanceUuid, move: its }, path) => mayNotBeItsOwn(instanceUuid, its, path) },
  );

  it('knows its name in the schema', () => {
    expect(move.type).toBe('berth.scheduler.v1.Move');
  });

  it('names the field that it refuses, in itself, in another message and in a list', () => {
    const moves = message(wire.ClaimMovesRequest, { moves: list(claimed, 1), dryRun: (value: boolean) => value });
    const bad = { instanceUuid: UUID, move: { migrationUuid: 'x', claimToken: 0, sourceHost: '' } };
    expect(() => move.decode(move.encode(bad.move))).toThrow(refusal('malformed_uuid', 'migration_uuid'));
    expect(() => claimed.decode(claimed.encode(bad))).toThrow(refusal('malformed_uuid', 'moved.move.migration_uuid'));
    const body = moves.encode({ moves: [bad], dryRun: false });
    expect(() => moves.decode(body)).toThrow(refusal('malformed_uuid', 'moves[0].move.migration_uuid'));
    const many = moves.encode({ moves: [bad, bad], dryRun: false });
    expect(() => moves.decode(many)).toThrow(refusal('too_many', 'moves'));
  });

  it('checks its fields together when each is right', () => {
    const own = { instanceUuid: UUID, move: { migrationUuid: UUID, claimToken: 1, sourceHost: 'h1' } };
    expect(() => claimed.decode(claimed.encode(own))).toThrow(refusal('own_migration', 'moved.move'));
  });

  it('must be there in another, unless it may be left out', () => {
    const response = message(wire.UpdateResourceStatsResponse, {
      sequence: count,
      wantsAllocationRequests: renamed('wants', (value: boolean) => value),
      atMs: omittable(whole),
      disabled: message(wire.HostDisabled, { reason: name }),
    });
    const empty = wire.UpdateResourceStatsResponse.encode({}).finish();
    expect(() => response.decode(empty)).toThrow(refusal('missing_field', 'disabled'));
    const value = { sequence: 7, wants: true, disabled: { reason: 'r' } };
    expect(response.decode(response.encode(value))).toEqual({ ...value, atMs: 0 });
  });

  it('reads and writes the words of an enum, and refuses numbers of none', () => {
    expect(power.words).toEqual(['running', 'shutdown']);
    expect(power.fromWire(2, 'state', undefined)).toBe('shutdown');
    expect(power.toWire?.('running', undefined)).toBe(1);
    for (const number of [0, 9]) {
      expect(() => power.fromWire(number, 'state', undefined)).toThrow(refusal('unknown_value', 'state'));
    }
  });
});

function anySpec() {
  return (value: berth.scheduler.v1.IRequestSpec) => value;
}

function mayNotBeItsOwn(instanceUuid: string, move: { readonly migrationUuid: string } | undefined, path: string) {
  if (move?.migrationUuid === instanceUuid) throw invalidArgument('own_migration', 'its own', `${path}.move`);
}
