import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type PrometheusServer, startPrometheus } from '#libs/testing/servers/prometheus';
import { freePort } from '#libs/testing/servers/server-process';
import { AGENTS, CONDUCTORS, SCHEDULERS, TestFleet, TOP_SERVICES } from './fleet/test-fleet';

/* Each query of each panel in deploy/grafana, on a fleet of real processes and a broker that a real Prometheus watches. */

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
}

const FOLDER = join(__dirname, '../../deploy/grafana/dashboards');
const DASHBOARDS = readdirSync(FOLDER).map((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard);
const PANELS = DASHBOARDS.flatMap(({ uid, panels }) =>
  panels.filter(({ type }) => type !== 'row').map((panel) => ({ uid, ...panel })),
);
const QUERIES = PANELS.flatMap(({ uid, title, targets = [] }) =>
  targets.map(({ expr }) => ({ panel: `${uid}, ${title}`, expression: expr.replaceAll('$__rate_interval', '10s') })),
);
const PROCESSES = [...SCHEDULERS, ...CONDUCTORS, ...AGENTS, ...TOP_SERVICES];
const API = 'placement-api';

let fleet: TestFleet;
let prometheus: PrometheusServer;
let api: Child;
/** The labels of each metric, by its name; empty while it has no series. */
let exposed: ReadonlyMap<string, ReadonlySet<string>>;
const ports = new Map<string, number>();

beforeAll(async () => {
  for (const name of [...PROCESSES, API]) ports.set(name, await freePort());
  fleet = await TestFleet.start(
    { BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000' },
    { rabbitmq: { hasMetrics: true }, httpPorts: ports },
  );
  const placementPort = await freePort();
  api = startChild('services/cli/main.ts', ['placement-api'], {
    BERTH_STORE_URL: fleet.redis.url,
    BERTH_PLACEMENT_PORT: String(placementPort),
    BERTH_HTTP_PORT: String(ports.get(API)),
    BERTH_PROCESS_NAME: API,
    BERTH_LOG_FORMAT: 'json',
  });
  await api.says('"running"');
  prometheus = await startPrometheus({
    rules: '',
    intervalMs: 500,
    jobs: {
      berth: { path: '/metrics' },
      rabbitmq: { path: '/metrics' },
      'rabbitmq-queues': { path: '/metrics/detailed', params: { family: 'queue_coarse_metrics' } },
    },
  });
  const broker = [fleet.rabbitmq.metricsTarget ?? ''];
  prometheus.scrape({
    berth: [...ports.values()].map((port) => `127.0.0.1:${port}`),
    rabbitmq: broker,
    'rabbitmq-queues': broker,
  });
  await fleet.atRest(await fleet.request(20));
  await (await fleet.startTop()).close();
  const headers = { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.38' };
  await fetch(`http://127.0.0.1:${placementPort}/resource_providers`, { headers });
  const texts = [...ports.values()].map((port) => textOf(`127.0.0.1:${port}/metrics`));
  const ofBroker = ['/metrics', '/metrics/detailed?family=queue_coarse_metrics'].map((path) =>
    textOf(broker[0] + path),
  );
  exposed = metricsIn((await Promise.all([...texts, ...ofBroker])).join('\n'));
});
afterAll(async () => {
  api?.process.kill('SIGKILL');
  await Promise.all([prometheus?.stop(), fleet?.stop()]);
});

async function textOf(address: string): Promise<string> {
  return await (await fetch(`http://${address}`)).text();
}

/** Metrics in Prometheus' text format; a histogram is its three series. */
function metricsIn(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const names = type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name];
    for (const one of names) if (!found.has(one)) found.set(one, new Set());
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) found.get(name)?.add(label);
  return found;
}

const metricsOf = (expression: string) =>
  [...expression.matchAll(/\b(?:berth|rabbitmq|process|nodejs)_\w+/g)].map(([name]) => name);

it.each(QUERIES)('$panel: $expression', async ({ expression }) => {
  const isAnswered = async () => (await prometheus.query(expression)) > 0;
  await expect(fleet.eventually('the query has an answer', isAnswered, 30_000)).resolves.toBeUndefined();
});

it('asks only for metrics and labels that processes and the broker expose', () => {
  const ofTarget = ['job', 'instance', 'le'];
  const problems = QUERIES.flatMap(({ panel, expression }) => {
    const names = metricsOf(expression);
    const missing = names.filter((name) => !exposed.has(name)).map((name) => `${panel}: no ${name}`);
    const known = names.flatMap((name) => [...(exposed.get(name) ?? [])]);
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/));
    const selected = [...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, all = '']) =>
      [...all.matchAll(/(\w+)(?:=|!)/g)].map(([, label = '']) => label),
    );
    // A counter that counted nothing yet has the labels of its process only.
    const isSilent = names.some((name) => (exposed.get(name)?.size ?? 0) === 0);
    const unknown = isSilent
      ? []
      : [...grouped, ...selected].filter((label) => ![...known, ...ofTarget].includes(label));
    return [...missing, ...unknown.map((label) => `${panel}: no label ${label}`)];
  });
  expect(problems).toEqual([]);
});

it('shows every metric of Berth in some panel', () => {
  const shown = new Set(QUERIES.flatMap(({ expression }) => metricsOf(expression)).map(base));
  const all = new Set([...exposed.keys()].filter((name) => name.startsWith('berth_')).map(base));
  expect([...all].filter((name) => !shown.has(name))).toEqual([]);
});

function base(name: string): string {
  return name.replace(/_(bucket|count|sum)$/, '');
}

it('says of every panel what it means', () => {
  expect(
    PANELS.filter(({ description = '' }) => description === '').map(({ uid, title }) => `${uid}, ${title}`),
  ).toEqual([]);
});
