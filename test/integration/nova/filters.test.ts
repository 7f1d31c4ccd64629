import * as fc from 'fast-check';
import { fakeClock } from '#libs/testing/fake-clock';
import type { HostState } from '../../../services/nova-scheduler/decision/host-state';
import { CellHardware } from '../../../services/nova-scheduler/facts/cell-hardware';
import type { FilterContext, FilterSettings } from '../../../services/nova-scheduler/filters/filter';
import { type QueryValue, readQuery, refusalBy } from '../../../services/nova-scheduler/filters/json-query';
import { metricsFilter } from '../../../services/nova-scheduler/filters/metrics';
import { metricsWeigher } from '../../../services/nova-scheduler/weighers/metrics';
import { askNova } from './ask-nova';

/* Filters and a weigher beside those of Nova that bear their names. */

const CASES = 3_000;
const HOST: Readonly<Record<string, QueryValue>> = {
  host: 'h1',
  hypervisor_type: 'QEMU',
  free_ram_mb: 1_024,
  vcpus_used: 0,
  vcpus_total: 8,
  ram_allocation_ratio: 1.5,
};

const term: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...Object.keys(HOST).map((name) => `$${name}`), '$no_such_thing', '$no.such.thing'),
  fc.constantFrom(0, 1, 8, 1_024, 1.5, -3, true, false, null, '', 'h1', 'QEMU', 'h'),
);
const operator = fc.constantFrom('=', '<', '>', 'in', '<=', '>=', 'not', 'or', 'and', 'like');
const query = fc.letrec((tie) => ({
  query: fc.tuple(operator, fc.array(fc.oneof({ maxDepth: 3 }, term, tie('query')), { maxLength: 4 })).map(flat),
})).query;

function flat([first, terms]: readonly [string, readonly unknown[]]): readonly unknown[] {
  return [first, ...terms];
}

it('meets queries where JsonFilter of Nova does', async () => {
  const cases = fc
    .sample(query, { numRuns: CASES, seed: 35 })
    .map((one) => ({ host: HOST, query: JSON.stringify(one) }));
  const nova = await askNova('nova_filters.py', cases);
  const differences = cases.flatMap(({ query: text }, i) => {
    const ours = answerTo(text);
    return ours === nova[i] ? [] : [{ text, ours, theirs: nova[i] }];
  });
  expect(differences.slice(0, 3)).toEqual([]);
  for (const one of [true, false, 'failed'])
    expect(nova.filter((answer) => answer === one).length).toBeGreaterThan(CASES / 20);
});

function answerTo(text: string): boolean | 'failed' {
  const read = readQuery(text);
  if (read.kind !== 'query') return read.kind === 'nothing' ? true : 'failed';
  const refusal = refusalBy(read.query, (path) => (Object.hasOwn(HOST, path) ? HOST[path] : undefined));
  if (refusal === undefined) return true;
  return refusal === 'it does not meet the query' ? false : 'failed';
}

const NAMES = ['cpu.frequency', 'cpu.percent', 'cpu.idle.percent', 'cpu.user.time'] as const;
const shares = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
const amounts = fc.oneof(shares, fc.integer({ min: -5, max: 5_000 }));
const metrics = fc.record({
  metrics: fc.uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), value: amounts }), {
    selector: ({ name }) => name,
  }),
  weight_setting: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(0, 1, -1, 2.5)), {
    selector: ([name]) => name,
  }),
  required: fc.boolean(),
  weight_of_unavailable: fc.constantFrom(-10_000, 0, 7),
  weight_multiplier: fc.constantFrom(1, 1, -2),
});

it('filters and weighs by metrics as Nova does', async () => {
  const cases = fc.sample(metrics, { numRuns: CASES, seed: 35 });
  const asked = cases.map((one) => ({ ...one, weight_setting: one.weight_setting.map((pair) => pair.join('=')) }));
  const nova = await askNova('nova_filters.py', asked);
  const ours = await Promise.all(cases.map(byMetrics));
  const differences = ours.flatMap((one, i) =>
    JSON.stringify(one) === JSON.stringify(nova[i]) ? [] : [{ one, theirs: nova[i], case: JSON.stringify(cases[i]) }],
  );
  expect(differences.slice(0, 3)).toEqual([]);
});

type MetricsCase = typeof metrics extends fc.Arbitrary<infer T> ? T : never;

async function byMetrics(one: MetricsCase): Promise<{ passes: boolean; weight: number | 'failed' }> {
  const rows = async (sql: string) =>
    sql.includes('compute_nodes') ? [{ uuid: 'u', metrics: JSON.stringify(one.metrics) }] : [];
  const read = await new CellHardware({ rows, close: async () => {} }, fakeClock()).read();
  const host = { node: { host: 'h', nodename: 'h' }, hardware: read.get('u') } as HostState;
  const settings = {
    metricRatios: new Map<string, number>(one.weight_setting),
    metricsRequired: one.required,
    metricsWeightOfUnavailable: one.weight_of_unavailable,
  } as unknown as FilterSettings;
  const context = { settings } as FilterContext;
  return { passes: metricsFilter.prepare(context)?.(host) === undefined, weight: weightOf(host, context, one) };
}

function weightOf(
  host: HostState,
  context: FilterContext,
  { weight_multiplier: multiplier }: MetricsCase,
): number | 'failed' {
  try {
    return metricsWeigher.prepare(context, () => multiplier)?.(host) ?? 0;
  } catch {
    return 'failed';
  }
}
