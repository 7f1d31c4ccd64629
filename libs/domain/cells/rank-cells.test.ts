import { resolveSpec } from '../extra-specs/resolve';
import { seededRandom } from '../random';
import { type RequestSpec, requestSpec } from '../request-spec';
import type { CellSummary, HostClass } from './cell-summary';
import { type CellCandidate, cellRequestOf, rankCells } from './rank-cells';

const hosts = (hostCount: number, vcpu: number, fields: Partial<HostClass> = {}): HostClass => {
  const free = { VCPU: { most: vcpu, total: vcpu * hostCount } };
  return { zone: 'nova', hostCount, traits: new Set(), someTraits: new Set(), free, ...fields };
};
const summary = (...classes: HostClass[]): CellSummary => {
  const counts = { hostCount: 1, availableCount: 1, instanceCount: 0 };
  return {
    digest: 1,
    ...counts,
    commonTraits: new Set(['COMPUTE_NODE']),
    classes,
    refused: [],
    zones: [],
    isAbridged: false,
  };
};
const never = () => Number.POSITIVE_INFINITY;
const cell = (name: string, fields: Partial<CellCandidate> = {}): CellCandidate => {
  const usual = { state: 'enabled', unreachable: '', summary: summary(hosts(10, 8)), assumed: {} } as const;
  return { name, ...usual, refusedSince: never, refusedCount: never, ...fields };
};
const asks = (vcpu: number, fields: Partial<RequestSpec> = {}) =>
  cellRequestOf(resolveSpec(requestSpec({ VCPU: vcpu }, { projectId: 'p', userId: 'u', ...fields }), 'spec'));
const rank = (cells: CellCandidate[], request = asks(2), count = 1) =>
  rankCells(request, count, cells, seededRandom(1));

it('a cell with room for all instances comes before one with room for some, one that is not known, and one that refused', () => {
  const cells = [
    cell('refused', { refusedCount: () => 1 }),
    cell('unknown', { summary: undefined }),
    cell('small', { summary: summary(hosts(1, 8)) }),
    cell('large'),
  ];
  expect(rank(cells, asks(2), 5).ranked).toEqual(['large', 'small', 'unknown', 'refused']);
});

it('a refusal of so many instances says nothing of fewer', () => {
  const refusing = cell('b', { summary: summary(hosts(1_000, 8)), refusedCount: () => 4 });
  expect(rank([cell('a'), refusing], asks(2), 3).ranked[0]).toBe('b');
  expect(rank([cell('a'), refusing], asks(2), 4).ranked[0]).toBe('a');
});

it('a refusal holds for requests of its shape unless something else may have been refused', () => {
  const isAlone = (fields: Partial<RequestSpec>) => asks(2, fields).isShapeAlone;
  expect(isAlone({ requiredTraits: ['CUSTOM_A'] })).toBe(true);
  const device = { name: '', count: 1, selectors: [], tolerations: {}, capacity: {} };
  expect(isAlone({ deviceRequests: [{ name: 'gpu', firstAvailable: [device] }] })).toBe(false);
  expect(isAlone({ rootForbiddenTraits: ['CUSTOM_A'] })).toBe(false);
  expect(isAlone({ imageProperties: { hw_architecture: 'arm64' } })).toBe(false);
});

it('what was given to a cell since its summary counts', () => {
  const cells = [cell('a', { assumed: { VCPU: 80 } }), cell('b', { summary: summary(hosts(1, 8)) })];
  expect(rank(cells).ranked).toEqual(['b', 'a']);
});

it.each<[string, Partial<CellCandidate>, ReturnType<typeof asks>, { filter: string; reason: string }]>([
  ['disabled', { state: 'disabled' }, asks(2), { filter: 'enabled', reason: 'disabled' }],
  ['draining', { state: 'draining' }, asks(2), { filter: 'enabled', reason: 'draining' }],
  ['unreachable', { unreachable: 'silent' }, asks(2), { filter: 'reachable', reason: 'silent' }],
  ['elsewhere', {}, asks(2, { availabilityZone: 'east' }), { filter: 'zone', reason: 'zone' }],
  ['without the trait', {}, asks(2, { requiredTraits: ['CUSTOM_A'] }), { filter: 'traits', reason: 'traits' }],
  [
    'without the trait on any root',
    {},
    asks(2, { rootRequiredTraits: ['CUSTOM_A'] }),
    { filter: 'traits', reason: 'traits' },
  ],
  ['with a forbidden one', {}, asks(2, { forbiddenTraits: ['COMPUTE_NODE'] }), { filter: 'traits', reason: 'traits' }],
  ['too small', {}, asks(9), { filter: 'capacity', reason: 'capacity_vcpu' }],
  ['known to refuse', { refusedSince: () => 1 }, asks(2), { filter: 'asked', reason: 'refused_just_now' }],
])('a cell that is %s is not asked, and it is said why', (_what, fields, request, refusal) => {
  expect(rank([cell('a', fields)], request)).toEqual({ ranked: [], refusals: [{ cell: 'a', ...refusal }] });
});

it('traits that some hosts of a class have neither refuse nor are forbidden', () => {
  const some = cell('a', { summary: summary(hosts(2, 8, { someTraits: new Set(['CUSTOM_A']) })) });
  expect(rank([some], asks(2, { requiredTraits: ['CUSTOM_A'] })).ranked).toEqual(['a']);
  expect(rank([some], asks(2, { forbiddenTraits: ['CUSTOM_A'] })).ranked).toEqual(['a']);
});

it('cells that are alike are chosen in turn, so that top schedulers do not all choose one', () => {
  const random = seededRandom(7);
  const cells = Array.from({ length: 10 }, (_, n) => cell(`c${n}`));
  const chosen = new Set(Array.from({ length: 100 }, () => rankCells(asks(2), 1, cells, random).ranked[0]));
  expect(chosen.size).toBeGreaterThan(5);
});
