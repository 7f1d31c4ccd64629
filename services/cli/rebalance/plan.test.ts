import * as fc from 'fast-check';
import type { Resources } from '#libs/domain/inventory';
import {
  afterMove,
  type Fleet,
  fits,
  fullness,
  type Plan,
  type PlanInstance,
  planAdmit,
  planEmpty,
  planEvenOut,
} from './plan';

const CAPACITY = { VCPU: 8, MEMORY_MB: 32 };

/** Hosts of 8 VCPUs, and what runs there; what does not fit is left out. */
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

/** The fleet after a plan; throws where a move does not fit when its turn comes. */
function carriedOut(fleet: Fleet, plan: Plan): Fleet {
  if (plan.kind === 'impossible') return fleet;
  return plan.moves.reduce((now, move) => {
    const one = now.instances.find(({ uuid }) => uuid === move.uuid);
    const to = now.hosts.find(({ name }) => name === move.to);
    if (!one?.isMovable || one.host !== move.from || !to?.isOpen || !fits(one.resources, to.free))
      throw new Error(`${move.uuid} can not go from ${move.from} to ${move.to}`);
    return afterMove(now, move);
  }, fleet);
}

it('empties a host by one move of each of its instances, or says why not', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const plan = planEmpty(fleet, ['h0']);
      const there = fleet.instances.filter(({ host }) => host === 'h0');
      const isDone = plan.kind === 'moves' && plan.moves.length === there.length;
      expect(isDone || (plan.kind === 'impossible' && there.length > 0)).toBe(true);
      const left = carriedOut(fleet, plan).instances.filter(({ host }) => host === 'h0');
      expect(left).toEqual(isDone ? [] : there);
    }),
  );
});

it('finds a place for all where the first choice of each leads nowhere', () => {
  const fleet = fleetOf(
    [
      { on: 0, vcpus: 3, isMovable: true },
      { on: 0, vcpus: 5, isMovable: true },
      { on: 1, vcpus: 3, isMovable: true },
      { on: 2, vcpus: 5, isMovable: true },
    ],
    3,
  );
  expect(carriedOut(fleet, planEmpty(fleet, ['h0'])).instances.filter(({ host }) => host === 'h0')).toEqual([]);
});

it('admits a request after the fewest moves, and none where it fits', () => {
  fc.assert(
    fc.property(fleets, fc.integer({ min: 1, max: 8 }), (fleet, vcpus) => {
      const wanted = { VCPU: vcpus };
      const plan = planAdmit(fleet, wanted);
      if (plan.kind === 'impossible') return;
      const hasRoom = (one: Fleet) => one.hosts.some(({ free }) => fits(wanted, free));
      expect(hasRoom(carriedOut(fleet, plan))).toBe(true);
      expect(plan.moves.length === 0).toBe(hasRoom(fleet));
    }),
  );
});

it('evens out: no move makes the fullest host fuller, and none is moved twice', () => {
  fc.assert(
    fc.property(fleets, (fleet) => {
      const plan = planEvenOut(fleet);
      const after = carriedOut(fleet, plan);
      const fullest = (one: Fleet) => Math.max(...one.hosts.map(fullness));
      expect(fullest(after)).toBeLessThanOrEqual(fullest(fleet));
      const uuids = plan.kind === 'moves' ? plan.moves.map(({ uuid }) => uuid) : [];
      expect(new Set(uuids).size).toBe(uuids.length);
    }),
  );
});

it('leaves alone what can not be moved, and hosts that are closed', () => {
  const fleet = fleetOf([{ on: 0, vcpus: 4, isMovable: false }]);
  expect(planEmpty(fleet, ['h0'])).toMatchObject({ kind: 'impossible' });
  const movable = fleetOf([{ on: 0, vcpus: 4, isMovable: true }]);
  const closed = { ...movable, hosts: movable.hosts.map((host) => ({ ...host, isOpen: false })) };
  expect(planEmpty(closed, ['h0'])).toMatchObject({ kind: 'impossible' });
  expect(planEvenOut(closed)).toEqual({ kind: 'moves', moves: [] });
});
