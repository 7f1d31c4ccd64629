import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { fakeClock } from '#libs/testing/fake-clock';
import { type HostSources, HostState } from '../../../services/nova-scheduler/decision/host-state';
import type { KnownHost } from '../../../services/nova-scheduler/decision/known-hosts';
import { UsageOverlay } from '../../../services/nova-scheduler/decision/usage-overlay';
import { CellHardware } from '../../../services/nova-scheduler/facts/cell-hardware';
import { readNode } from '../../../services/nova-scheduler/facts/read-answers';
import type { FilterContext, FilterSettings } from '../../../services/nova-scheduler/filters/filter';
import { jsonFilter } from '../../../services/nova-scheduler/filters/json';
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

const textOf = (value: unknown) => JSON.stringify(value);
const PARTS = [
  'stats',
  'stats.num_instances',
  'stats.io_workload',
  'stats.none',
  'stats.io_workload.x',
  'stats.none.x',
];
const PATHS = [...PARTS, 'cpu_info', 'cpu_info.x', 'supported_instances', 'supported_instances.x', 'free_disk_mb'];
const CPU_INFO = '{"arch": "x86_64", "vendor": "Intel"}';
const rowTerm: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...[...PATHS, 'disk_mb_used', 'disk_available_least'].map((name) => `$${name}`)),
  fc.constantFrom(0, 5_120, 10_240, 102_400, -1_024, true, null, '3', '12', CPU_INFO, ['not', '']),
);
const rowQuery = fc.letrec((tie) => ({
  query: fc.tuple(operator, fc.array(fc.oneof({ maxDepth: 2 }, rowTerm, tie('query')), { maxLength: 3 })).map(flat),
})).query;
const instanceKinds = fc.subarray([
  ['x86_64', 'kvm', 'hvm'],
  ['i686', 'qemu', 'hvm'],
]);
const row = fc.record({
  cpu_info: fc.constantFrom(null, '', '{}', CPU_INFO),
  stats: fc.constantFrom({}, { num_instances: '3', io_workload: 12 }, { io_workload: '0', none: null }).map(textOf),
  supported_instances: instanceKinds.map(textOf),
  local_gb: fc.constant(100),
  local_gb_used: fc.constantFrom(0, 90, 101),
  disk_available_least: fc.constantFrom(null, -1, 5, 10, 200),
});

it('meets queries over what nova-compute tells of a host where JsonFilter of Nova does', async () => {
  const cases = fc.sample(fc.record({ row, query: rowQuery.map(textOf) }), { numRuns: CASES, seed: 36 });
  const asked = cases.map((one) => {
    const { local_gb: total, local_gb_used: used } = one.row;
    return { ...one, row: { ...one.row, free_disk_gb: total - used } };
  });
  const nova = await askNova('nova_filters.py', asked);
  const ours = await Promise.all(cases.map(byRow));
  const differences = ours.flatMap((one, i) => (one === nova[i] ? [] : [{ ...cases[i], ours: one, theirs: nova[i] }]));
  expect(differences.slice(0, 3)).toEqual([]);
  for (const one of [true, false, 'failed'])
    expect(nova.filter((answer) => answer === one).length).toBeGreaterThan(CASES / 20);
});

async function byRow(one: { readonly row: Row; readonly query: string }): Promise<boolean | 'failed'> {
  const rows = async (sql: string) => (sql.includes('compute_nodes') ? [{ uuid: 'u', ...one.row }] : []);
  const hardware = (await new CellHardware({ rows, close: async () => {} }, fakeClock(), true).read()).get('u');
  const api = { id: 'u', hypervisor_hostname: 'n', hypervisor_type: 'QEMU', service: { host: 'h' } };
  const node = readNode({ ...api, disk_available_least: one.row['disk_available_least'] }, () => undefined);
  const sources = {
    view: {
      provider: () => ({ inventories: { DISK_GB: inventory(Number(one.row['local_gb'])) } }),
      usage: () => ({ DISK_GB: Number(one.row['local_gb_used']) }),
    },
    facts: { hardware: () => hardware },
    taken: new UsageOverlay(),
    hardware: { of: (_: string, facts: HostState['hardware']) => facts },
  } as unknown as HostSources;
  const host = new HostState({ node } as KnownHost, [], sources);
  const refusal = jsonFilter.prepare({ request: { hint: () => [one.query] } } as unknown as FilterContext)?.(host);
  if (refusal === undefined) return true;
  return refusal === 'it does not meet the query' ? false : 'failed';
}

type Row = Readonly<Record<string, unknown>>;

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
  const read = await new CellHardware({ rows, close: async () => {} }, fakeClock(), false).read();
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
