import {
  type Arbitrary,
  array,
  assert,
  constantFrom,
  integer,
  option,
  property,
  record,
  uniqueArray,
} from 'fast-check';
import { type ComingUse, type Holding, keptFrom, type ReservedRoom } from './reservation';

const NOW_MS = 5;
const END_OF_TIME_MS = 30;

const timeMs = integer({ min: 0, max: 20 });
const amount = integer({ min: 1, max: 6 });
const projectId = constantFrom('p', 'q');
const name = constantFrom('a', 'b');

const room: Arbitrary<ReservedRoom> = record({
  reservation: name,
  fromMs: timeMs,
  lastsMs: integer({ min: 1, max: 10 }),
  VCPU: amount,
}).map(({ reservation, fromMs, lastsMs, VCPU }) => {
  return { reservation, projectId: 'p', fromMs, untilMs: fromMs + lastsMs, resources: { VCPU } };
});
const rooms = uniqueArray(room, { maxLength: 2, selector: ({ reservation }) => reservation });

const holding: Arbitrary<Holding> = record({
  projectId,
  reservation: option(name, { nil: undefined }),
  sinceMs: integer({ min: 0, max: NOW_MS }),
  endsAtMs: option(timeMs, { nil: undefined }),
  VCPU: amount,
}).map(({ VCPU, ...about }) => ({ ...about, resources: { VCPU } }));

const use: Arbitrary<ComingUse> = record({
  projectId,
  reservation: option(name, { nil: undefined }),
  startsAtMs: integer({ min: NOW_MS, max: 12 }),
  endsAtMs: option(integer({ min: 0, max: 25 }), { nil: undefined }),
});

/** By the definition: at each moment of the use, what is reserved then and not used, less what has ended by then. */
function keptByDefinition(coming: ComingUse, reserved: readonly ReservedRoom[], holdings: readonly Holding[]): number {
  const isThere = ({ endsAtMs = Infinity }: Holding, atMs: number) => endsAtMs <= NOW_MS || endsAtMs > atMs;
  const sum = (some: readonly Holding[]) => some.reduce((all, one) => all + (one.resources.VCPU ?? 0), 0);
  const { startsAtMs, endsAtMs = END_OF_TIME_MS } = coming;
  const untilMs = endsAtMs <= startsAtMs ? END_OF_TIME_MS : endsAtMs;
  let most = -Infinity;
  for (let atMs = startsAtMs; atMs < untilMs; atMs++) {
    let kept = 0 - sum(holdings.filter((one) => !isThere(one, atMs)));
    for (const { reservation, projectId: owner, fromMs, untilMs: overMs, resources } of reserved) {
      const isOwn = coming.reservation === reservation && coming.projectId === owner;
      if (isOwn || atMs < fromMs || atMs >= overMs) continue;
      const own = holdings.filter((one) => one.reservation === reservation && one.projectId === owner);
      const used = sum(own.filter((one) => isThere(one, atMs) && one.sinceMs >= fromMs));
      kept += Math.max(0, (resources.VCPU ?? 0) - used);
    }
    most = Math.max(most, kept);
  }
  return most;
}

it('keeps what the definition keeps at the worst moment of a use', () => {
  assert(
    property(use, rooms, array(holding, { maxLength: 5 }), (coming, reserved, holdings) => {
      expect(keptFrom(coming, reserved, holdings, NOW_MS).VCPU ?? 0).toBe(keptByDefinition(coming, reserved, holdings));
    }),
    { numRuns: 2_000 },
  );
});

it('keeps no less when a holding is not known', () => {
  assert(
    property(use, rooms, array(holding, { minLength: 1, maxLength: 5 }), (coming, reserved, holdings) => {
      const known = keptFrom(coming, reserved, holdings, NOW_MS).VCPU ?? 0;
      expect(keptFrom(coming, reserved, holdings.slice(1), NOW_MS).VCPU ?? 0).toBeGreaterThanOrEqual(known);
    }),
  );
});
