import * as fc from 'fast-check';
import { cellSummaryCodec } from '#libs/contracts/cell-summary';
import { type CellSummary, MAX_HOST_CLASSES, MAX_ZONES } from '#libs/domain/cells/cell-summary';
import { type CellCandidate, cellRequestOf, rankCells } from '#libs/domain/cells/rank-cells';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { DEFAULT_ZONE, ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { MAX_AMOUNT } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import type { HostState } from '../fleet/host-state';
import { summariseHosts } from './summarise-hosts';

/** As much of a host as a summary reads. */
function aHost(free: Record<string, number>, zone = DEFAULT_ZONE, traits: readonly string[] = []): HostState {
  const aggregates = zone === DEFAULT_ZONE ? [] : [{ uuid: '', name: zone, metadata: { [ZONE_KEY]: zone } }];
  const host = { up: true, enabled: true };
  return {
    host,
    aggregates,
    traits: new Set(traits),
    free,
    instances: 1,
    quarantine: undefined,
  } as unknown as HostState;
}

function candidate(summary: CellSummary): CellCandidate {
  const never = () => Number.POSITIVE_INFINITY;
  const known = { name: 'a', state: 'enabled', unreachable: '', assumed: {} } as const;
  return { ...known, summary, refusedSince: never, refusedCount: never };
}

const TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D', 'CUSTOM_E', 'CUSTOM_F', 'CUSTOM_G'];
const hosts = fc.array(
  fc.record({
    free: fc.record({ VCPU: fc.nat(4_000), MEMORY_MB: fc.nat(1_000_000) }),
    zone: fc.constantFrom(...Array.from({ length: 90 }, (_, n) => `z${n}`)),
    traits: fc.subarray(TRAITS),
  }),
  { minLength: 1, maxLength: 400 },
);
const request = fc.record({
  vcpu: fc.integer({ min: 1, max: 4_000 }),
  zone: fc.option(fc.constantFrom('z1', 'z2', 'z89'), { nil: undefined }),
  required: fc.subarray(TRAITS, { maxLength: 3 }),
  forbidden: fc.subarray(TRAITS, { maxLength: 2 }),
});

it('is small, and refuses no request that one of the hosts would take', () => {
  fc.assert(
    fc.property(hosts, request, (rows, { vcpu, zone, required, forbidden }) => {
      const summary = cellSummaryCodec.decode(
        cellSummaryCodec.encode(summariseHosts(rows.map((row) => aHost(row.free, row.zone, row.traits)))),
      );
      expect(summary.classes.length).toBeLessThanOrEqual(MAX_HOST_CLASSES);
      const spec = requestSpec(
        { VCPU: vcpu },
        {
          projectId: 'p',
          userId: 'u',
          requiredTraits: required,
          forbiddenTraits: forbidden,
          ...(zone === undefined ? {} : { availabilityZone: zone }),
        },
      );
      const isTaken = rows.some(
        (row) =>
          row.free.VCPU >= vcpu &&
          (zone === undefined || row.zone === zone) &&
          required.every((trait) => row.traits.includes(trait)) &&
          !forbidden.some((trait) => row.traits.includes(trait)),
      );
      const asked = cellRequestOf(resolveSpec(spec, 'spec'));
      const { ranked } = rankCells(asked, 1, [candidate(summary)], seededRandom(1));
      expect({ isTaken, isAsked: ranked.length > 0 }).not.toEqual({ isTaken: true, isAsked: false });
    }),
    { numRuns: 300 },
  );
});

it('10,000 hosts that are alike are one class of some 100 bytes', () => {
  const summary = summariseHosts(
    Array.from({ length: 10_000 }, (_, n) => aHost({ VCPU: 33 + (n % 15) }, 'east', ['CUSTOM_A'])),
  );
  expect(summary.classes).toMatchObject([{ zone: 'east', hostCount: 10_000, free: { VCPU: { most: 47 } } }]);
  expect([...summary.commonTraits]).toEqual(['CUSTOM_A']);
  expect(cellSummaryCodec.encode(summary).length).toBeLessThan(120);
});

it('is of bounded size where each host has traits and resource classes of its own, and refuses none of them', () => {
  const common = (n: number) => Array.from({ length: 200 }, (_, i) => `CUSTOM_TRAIT_THAT_SOME_HAVE_${(n + i) % 400}`);
  const rows = Array.from({ length: 2_000 }, (_, n) =>
    aHost(
      { VCPU: 4, [`CUSTOM_CLASS_THAT_SOME_HAVE_${n % 250}`]: 3, [`CUSTOM_CLASS_${n}`]: 1 },
      `z${Math.floor(n / 20)}`,
      ['CUSTOM_A', ...common(n), `CUSTOM_TRAIT_${n}`],
    ),
  );
  const encoded = cellSummaryCodec.encode(summariseHosts(rows));
  expect([encoded.length > 50_000, encoded.length < 300_000]).toEqual([true, true]);
  const summary = cellSummaryCodec.decode(encoded);
  expect(summary.isAbridged).toBe(true);
  const rank = (resources: Record<string, number>, requiredTraits: readonly string[]) => {
    const spec = requestSpec(resources, { projectId: 'p', userId: 'u', requiredTraits });
    return rankCells(cellRequestOf(resolveSpec(spec, 'spec')), 1, [candidate(summary)], seededRandom(1)).ranked;
  };
  for (let n = 0; n < 2_000; n += 100) {
    expect(rank({ VCPU: 4, [`CUSTOM_CLASS_${n}`]: 1 }, ['CUSTOM_A', `CUSTOM_TRAIT_${n}`])).toEqual(['a']);
    expect(rank({ [`CUSTOM_CLASS_${n}`]: 1 }, [])).toEqual(['a']);
  }
  expect(rank({ VCPU: 5 }, ['CUSTOM_A'])).toEqual([]);
  expect(rank({ CUSTOM_CLASS_THAT_SOME_HAVE_7: 4 }, [])).toEqual([]);
});

it('tells amounts apart where the sets of traits are too many to be told apart', () => {
  const rows = Array.from({ length: 400 }, (_, n) =>
    aHost(n % 2 ? { VCPU: 64, MEMORY_MB: 1_024 } : { VCPU: 1, MEMORY_MB: 262_144 }, 'east', [
      'CUSTOM_A',
      `CUSTOM_T${n % 200}`,
    ]),
  );
  const summary = summariseHosts(rows);
  const most = summary.classes.map(({ free }) => `${free['VCPU']?.most} ${free['MEMORY_MB']?.most}`);
  expect(most.toSorted()).toEqual(['1 262144', '64 1024']);
});

it('leaves out hosts that take nothing, and counts them', () => {
  const down = { ...aHost({ VCPU: 1 }), host: { up: false, enabled: true } } as HostState;
  expect(summariseHosts([aHost({ VCPU: 1 }), down])).toMatchObject({
    hostCount: 2,
    availableCount: 1,
    instanceCount: 2,
  });
});

it('names the zones of all hosts, those that take nothing among them, and none of hosts in no zone', () => {
  const down = { ...aHost({ VCPU: 1 }, 'west'), host: { up: false, enabled: true } } as HostState;
  const summary = summariseHosts([aHost({ VCPU: 1 }, 'west'), aHost({ VCPU: 1 }, 'east'), aHost({ VCPU: 1 }), down]);
  expect(cellSummaryCodec.decode(cellSummaryCodec.encode(summary)).zones).toEqual(['east', 'west']);
  expect(summariseHosts([down]).zones).toEqual(['west']);
  const many = Array.from({ length: MAX_ZONES + 1 }, (_, n) => aHost({ VCPU: 1 }, `z${n}`));
  expect(summariseHosts(many).zones).toHaveLength(MAX_ZONES);
});

it('has another digest when a shape was refused', () => {
  const rows = [aHost({ VCPU: 1 })];
  expect(summariseHosts(rows).digest).not.toBe(summariseHosts(rows, [{ shape: 'x', count: 1 }]).digest);
  expect(summariseHosts(rows).digest).toBe(summariseHosts(rows).digest);
});

it('stays readable when hosts report more than a number can say', () => {
  const rows = Array.from({ length: 1_000 }, () => aHost({ VCPU: MAX_AMOUNT * 10_000 }));
  const { classes } = cellSummaryCodec.decode(cellSummaryCodec.encode(summariseHosts(rows)));
  expect(classes[0]?.free['VCPU']).toEqual({ most: MAX_AMOUNT * 10_000, total: Number.MAX_SAFE_INTEGER });
});
