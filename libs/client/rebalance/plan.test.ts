import * as fc from 'fast-check';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import { afterMove, emptying, evening, type Fleet, fits, fullness, type PlanInstance } from './plan';

const CAPACITY = { VCPU: 8, MEMORY_MB: 32 };

/** Hosts of 8 VCPUs with their instances; those that do not fit are left out. */
function fleetOf(
  placed: readonly { readonly on: number; readonly vcpus: number; readonly isMovable: boolean }[],
  hosts = 4,
): Fleet {
  let fleet: Fleet = {
    hosts: Array.from({ length: hosts }, (_, n) => ({
      name: `h${n}`,
      isOpen: true,
      free: CAPACITY,
      capacity: CAPACITY,
    })),
    instances: [],
  };
  for (const [n, { on, vcpus, isMovable }] of placed.entries()) {
    const host = `h${on % hosts}`;
    const resources: Resources = { VCPU: vcpus, MEMORY_MB: 4 * vcpus };
    if (!fits(resources, fleet.hosts.find(({ name }) => name === host)?.free ?? {})) continue;
    const one: PlanInstance = { uuid: `i${n}`, host: 'elsewhere', resources, isMovable };
    fleet = afterMove(
      { ...fleet, instances: [...fleet.instances, one] },
      { uuid: one.uuid, from: 'elsewhere', to: host },
    );
  }
  return fleet;
}

const fleets = fc
  .array(fc.record({ on: fc.nat(3), vcpus: fc.integer({ min: 1, max: 5 }), isMovable: fc.boolean() }), {
    maxLength: 12,
  })
  .map((placed) => fleetOf(placed));

/** The fleet after moves with targets; throws when one does not fit before any has left. */
function carriedOut(fleet: Fleet, { moves }: ReturnType<typeof evening>): Fleet {
  const room = new Map(fleet.hosts.map(({ name, free }) => [name, free]));
  return moves.reduce((now, { instanceUuid: uuid, targetHost: to }) => {
    const one = now.instances.find((instance) => instance.uuid === uuid);
    const isOpen = now.hosts.find(({ name }) => name === to)?.isOpen;
    if (!one?.isMovable || !isOpen || !fits(one.resources, room.get(to) ?? {}))
      throw new Error(`${uuid} can not go to ${to}`);
    room.set(to, addResources(room.get(to) ?? {}, negated(one.resources)));
    return afterMove(now, { uuid, from: one.host, to });
  }, fleet);
}

it('empties hosts by one move of each of their instances, to none of them', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const there = fleet.instances.filter(({ host }) => host === 'h0' || host === 'h1');
      const { moves, leaveHosts } = emptying(fleet, ['h0', 'h1']);
      expect(leaveHosts).toEqual(['h0', 'h1']);
      expect(moves.map(({ instanceUuid }) => instanceUuid)).toEqual(there.map(({ uuid }) => uuid));
    }),
  );
});

it('evens out: no move makes the fullest host fuller, none is moved twice, and each fits before any has left', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const wish = evening(fleet);
      const fullest = (one: Fleet) => Math.max(...one.hosts.map(fullness));
      expect(fullest(carriedOut(fleet, wish))).toBeLessThanOrEqual(fullest(fleet));
      expect(new Set(wish.moves.map(({ instanceUuid }) => instanceUuid)).size).toBe(wish.moves.length);
    }),
  );
});

it('evens out without what is to stay, and hosts that are closed', () => {
  const fleet = fleetOf([{ on: 0, vcpus: 4, isMovable: true }]);
  expect(evening(fleet, new Set(['i0'])).moves).toEqual([]);
  const closed = { ...fleet, hosts: fleet.hosts.map((host) => ({ ...host, isOpen: false })) };
  expect(evening(closed).moves).toEqual([]);
});
