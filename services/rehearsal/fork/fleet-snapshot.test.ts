import { findHosts } from './find-hosts';
import type { FleetSnapshot } from './fleet-snapshot';
import { decodeSnapshot, encodeSnapshot } from './fleet-snapshot';

const host = (name: string, aggregates: readonly string[] = []) => [name, 1, { name, aggregates }] as const;
const aggregate = (uuid: string, metadata: Readonly<Record<string, string>>) => [uuid, 1, { uuid, metadata }] as const;

const SNAPSHOT: FleetSnapshot = {
  cell: 'cell1',
  takenAtMs: 1,
  placement: {
    revision: 1,
    claimToken: 1,
    bornAtMs: 1,
    tables: {
      host: [host('h1', ['a']), host('h2', ['a', 'b']), host('h3')],
      aggregate: [aggregate('a', { rack: 'r1, r2' }), aggregate('b', { availability_zone: 'east' })],
    },
    counts: [],
    heartbeats: [],
  },
  instances: [],
  flavors: [],
};

it('reads what it wrote, bytes too', () => {
  const record = { uuid: 'u', requestSpec: Buffer.from([0, 1, 255]), name: '{"base64":1}' };
  const snapshot = { ...SNAPSHOT, instances: [record] } as unknown as FleetSnapshot;
  expect(decodeSnapshot(encodeSnapshot(snapshot))).toEqual(snapshot);
});

it.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['another format', '{"format":"berth-fleet-snapshot-0"}'],
  ['without its tables', encodeSnapshot({ ...SNAPSHOT, placement: {} as never })],
  ['without a time', encodeSnapshot({ ...SNAPSHOT, takenAtMs: undefined as never })],
])('refuses %s', (_, text) => {
  expect(() => decodeSnapshot(text)).toThrow(expect.objectContaining({ reason: 'bad_snapshot' }));
});

it.each([
  [['h3', 'h1'], [], ['h1', 'h3']],
  [[], [['rack', 'r2']], ['h1', 'h2']],
  [
    [],
    [
      ['rack', 'r1'],
      ['availability_zone', 'east'],
    ],
    ['h2'],
  ],
  [['h3'], [['availability_zone', 'east']], ['h2', 'h3']],
] as const)('finds hosts by names %j and metadata %j', (names, metadata, expected) => {
  expect(findHosts(SNAPSHOT, { names, metadata })).toEqual(expected);
});

it.each([
  [['h4'], []],
  [[], []],
  [[], [['rack', 'r9']]],
] as const)('refuses names %j and metadata %j of no host', (names, metadata) => {
  expect(() => findHosts(SNAPSHOT, { names, metadata })).toThrow(expect.objectContaining({ reason: 'no_such_host' }));
});
