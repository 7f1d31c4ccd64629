import { connect } from '#libs/client/connect';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '#libs/testing/servers/trace-collector';
import { ownVirtualHost } from '../shared-servers';

/* A build as one trace: real processes on a real broker and a real store, told to a collector. */

const BERTH = 'services/cli/main.ts';
let servers: readonly Pick<TestServer, 'url' | 'stop'>[] = [];
let collector: TraceCollector;
let tracing: Record<string, string>;
let addresses: Record<string, string>;
const children: Child[] = [];

beforeAll(async () => {
  const [broker, redis, traces] = await Promise.all([ownVirtualHost(), startRedis(), startTraceCollector()]);
  servers = [broker, redis];
  collector = traces;
  addresses = { BERTH_BUS_URL: broker.url, BERTH_STORE_URL: redis.url };
  tracing = { BERTH_TRACES: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: traces.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  for (const [name, ...flags] of [['scheduler'], ['conductor'], ['compute-agent', '--host', 'h1']] as const) {
    const child = startChild(BERTH, [name, ...flags], { ...addresses, ...tracing });
    children.push(child);
    await child.says('"running"');
  }
});
afterAll(async () => {
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([collector?.close(), ...servers.map((server) => server.stop())]);
});

/** Builds one instance like the command line. */
async function build(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const { BERTH_BUS_URL = '' } = addresses;
  const child = startChild(BERTH, ['build', '--vcpu', '1', '--memory-mb', '64', '--wait'], {
    BERTH_BUS_URL,
    ...env,
  });
  expect({ ...(await child.exit), err: child.stderr() }).toEqual({ code: 0, signal: null, err: '' });
}

/** Spans in each trace of a build. */
const NEEDED = ['process SelectDestinationsRequest', 'driver build', 'process BuildReport'];

/** The complete traces that begin with a span of a process: each process exports a span when it ends. */
async function tracesFrom(service: string, name: string, count: number): Promise<CollectedSpan[][]> {
  const tracesIn = (spans: readonly CollectedSpan[]) =>
    spans
      .filter((span) => span.service === service && span.name === name && span.parentSpanId === '')
      .map(({ traceId }) => spans.filter((span) => span.traceId === traceId));
  const isWhole = (trace: readonly CollectedSpan[]) =>
    NEEDED.every((needed) => trace.some((span) => span.name === needed)) &&
    trace.every(({ parentSpanId }) => parentSpanId === '' || trace.some(({ spanId }) => spanId === parentSpanId));
  const areThere = (spans: readonly CollectedSpan[]) => {
    const traces = tracesIn(spans);
    return traces.length === count && traces.every(isWhole);
  };
  return tracesIn(await collector.has(areThere));
}

/** Each span with the names of its ancestors, outermost first. */
function pathsIn(spans: readonly CollectedSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const nameOf = ({ service, name }: CollectedSpan) => `${service.replace('berth-', '')}: ${name}`;
  const pathOf = (span: CollectedSpan): string => {
    if (span.parentSpanId === '') return nameOf(span);
    const parent = byId.get(span.parentSpanId);
    return `${parent ? pathOf(parent) : '?'} / ${nameOf(span)}`;
  };
  return spans.map(pathOf);
}

const REQUEST = 'conductor: process BuildRequest / conductor: build request';
const SELECT = 'conductor: call SelectDestinationsRequest / scheduler: process SelectDestinationsRequest';
const ORDER = 'conductor: send BuildInstance / compute-agent: process BuildInstance';
const REPORT = 'compute-agent: send BuildReport / conductor: process BuildReport';

it('is one trace from the request through conductor, scheduler, claim, agent and report', async () => {
  await build(tracing);
  const [trace = []] = await tracesFrom('berth', 'berth build', 1);
  const paths = pathsIn(trace);
  const sent = `berth: berth build / berth: build / berth: send BuildRequest`;
  expect(paths.filter((path) => !path.includes(' / '))).toEqual(['berth: berth build']);
  expect(paths).toEqual(
    expect.arrayContaining([
      sent,
      `${sent} / ${REQUEST}`,
      `${sent} / ${REQUEST} / ${SELECT}`,
      `${sent} / ${REQUEST} / ${SELECT} / scheduler: commit write_allocations`,
      `${sent} / ${REQUEST} / ${ORDER}`,
      `${sent} / ${REQUEST} / ${ORDER} / compute-agent: driver build`,
      `${sent} / ${REQUEST} / ${ORDER} / ${REPORT}`,
    ]),
  );
});

it('begins with the conductor for a client that traces nothing, and is kept by messages that share a frame', async () => {
  const client = await connect({ url: addresses['BERTH_BUS_URL'] ?? '' });
  const spec = { projectId: 'p', userId: 'u', resources: { VCPU: 1, MEMORY_MB: 64 } };
  await Promise.all(Array.from({ length: 20 }, () => client.buildAndWait({ spec })));
  await client.close();
  for (const trace of await tracesFrom('berth-conductor', 'build request', 20)) {
    const paths = pathsIn(trace);
    const parts = [SELECT, ORDER, `${ORDER} / ${REPORT}`].map((path) => `conductor: build request / ${path}`);
    expect(paths).toEqual(expect.arrayContaining(parts));
    expect(paths.filter((path) => !path.includes(' / '))).toEqual(['conductor: build request']);
  }
});

it('is left out by every process when its beginning was', async () => {
  await build({ ...tracing, OTEL_TRACES_SAMPLER: 'always_off' });
  await build(tracing);
  await tracesFrom('berth', 'berth build', 2);
  expect(collector.spans().filter(({ name }) => name === 'driver build')).toHaveLength(1 + 20 + 1);
});

it('has nothing of what a process does by itself', () => {
  const roots = collector.spans().filter(({ parentSpanId }) => parentSpanId === '');
  expect([...new Set(roots.map(({ service, name }) => `${service} ${name}`))].sort()).toEqual([
    'berth berth build',
    'berth-conductor build request',
  ]);
});
