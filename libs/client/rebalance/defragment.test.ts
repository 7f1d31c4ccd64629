import * as fc from 'fast-check';
import { addResources, negated } from '#libs/domain/inventory';
import { defragmenting, roomFor } from './defragment';
import { afterMove, type Fleet, fits } from './plan';

const CAPACITY = { VCPU: 8, MEMORY_MB: 32 };
const SMALL = { VCPU: 1, MEMORY_MB: 4 };
const LARGE = { VCPU: 8, MEMORY_MB: 32 };

/** Hosts with so many small instances each, and a full host with a large one, so that large requests count too. */
function fleetOf(smallOn: readonly number[], isMovable = true): Fleet {
  const names = ['large', ...smallOn.map((_, n) => `h${n}`)];
  const hosts = names.map((name) => ({ name, isOpen: true, free: CAPACITY, capacity: CAPACITY }));
  const wanted = smallOn.flatMap((count, n) =>
    Array.from({ length: count }, (_, i) => [`h${n}`, `i${n}-${i}`] as const),
  );
  const instances = [
    { uuid: 'l', host: 'large', resources: LARGE, isMovable },
    ...wanted.map(([host, uuid]) => ({ uuid, host, resources: SMALL, isMovable })),
  ];
  const empty: Fleet = { hosts, instances: instances.map((one) => ({ ...one, host: 'elsewhere' })) };
  return instances.reduce((fleet, { uuid, host: to }) => afterMove(fleet, { uuid, from: 'elsewhere', to }), empty);
}

/** The fleet after moves; throws when one does not fit before any has left. */
function carriedOut(fleet: Fleet, moves: ReturnType<typeof defragmenting>['moves']): Fleet {
  const before = new Map(fleet.hosts.map(({ name, free }) => [name, { name, isOpen: true, free, capacity: free }]));
  return moves.reduce((now, { instanceUuid, targetHost: to }) => {
    const one = fleet.instances.find(({ uuid }) => uuid === instanceUuid);
    const host = before.get(to);
    if (!one?.isMovable || !host || !fits(one.resources, host.free))
      throw new Error(`${instanceUuid} can not go to ${to}`);
    before.set(to, { ...host, free: addResources(host.free, negated(one.resources)) });
    return afterMove(now, { uuid: one.uuid, from: one.host, to });
  }, fleet);
}

it('gathers what is in pieces, until a large request fits', () => {
  const fleet = fleetOf([1, 7]);
  expect(roomFor(LARGE, fleet.hosts)).toBe(0);
  const { moves } = defragmenting(fleet, 10);
  expect(moves).toEqual([{ instanceUuid: 'i0-0', targetHost: 'h1' }]);
  expect(roomFor(LARGE, carriedOut(fleet, moves).hosts)).toBe(1);
});

it('moves nothing when nothing is to be won, may be moved, or no move is allowed', () => {
  expect(defragmenting(fleetOf([8, 0]), 10).moves).toEqual([]);
  expect(defragmenting(fleetOf([1, 7], false), 10).moves).toEqual([]);
  expect(defragmenting(fleetOf([1, 7]), 0).moves).toEqual([]);
  expect(defragmenting(fleetOf([1, 7]), 10, new Set(['i0-0'])).moves).not.toContainEqual(
    expect.objectContaining({ instanceUuid: 'i0-0' }),
  );
});

it('moves each at most once, no more than it may, and each to where it fits before any has left', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(8), { minLength: 2, maxLength: 6 }), fc.nat(6), (smallOn, most) => {
      const fleet = fleetOf(smallOn);
      const { moves } = defragmenting(fleet, most);
      expect(moves.length).toBeLessThanOrEqual(most);
      expect(new Set(moves.map(({ instanceUuid }) => instanceUuid)).size).toBe(moves.length);
      const after = carriedOut(fleet, moves);
      expect(roomFor(SMALL, after.hosts)).toBe(roomFor(SMALL, fleet.hosts));
      expect(roomFor(LARGE, after.hosts)).toBeGreaterThanOrEqual(roomFor(LARGE, fleet.hosts));
    }),
  );
});
