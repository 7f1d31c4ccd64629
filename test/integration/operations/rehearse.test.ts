import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { drainHost } from '#libs/client/drain/drain-host';
import { systemClock } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../../services/cli/testing/run-line';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';

/* A drain is rehearsed by a user of the store that may only read, then done: what was predicted is what happens. */

const clock = systemClock();
const LIMIT = { timeoutMs: 60_000 };
const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 16 } };
const SETTINGS = { BERTH_HTTP_PORT: '0', BERTH_AGENT_FAKE_LATENCY_MS: '1000' };

let broker: OwnVirtualHost;
let redis: TestServer;
let client: Client;
let children: Child[];

beforeAll(async () => {
  [broker, redis] = await Promise.all([ownVirtualHost(), startRedis()]);
  const env = {
    ...SETTINGS,
    BERTH_BUS_URL: broker.url,
    BERTH_STORE_URL: redis.url,
  };
  const services = [['scheduler'], ['conductor'], ['compute-agent', '--driver', 'fake', '--hosts', '12']];
  children = services.map((words) => startChild('services/cli/main.ts', words, env));
  await Promise.all(children.map((child) => child.says('"msg":"running"')));
  client = await connect({ url: broker.url });
});

afterAll(async () => {
  await client?.close();
  for (const child of children ?? []) child.process.kill('SIGTERM');
  await Promise.all((children ?? []).map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
});

it('predicts what a drain moves and how long it takes, with no right to write', async () => {
  await client.buildAndWait({ spec: SPEC, count: 60 }, LIMIT);
  const admin = new Redis(redis.url);
  await admin.acl(
    'SETUSER',
    'reader',
    'on',
    '>secret',
    '~*',
    'resetchannels',
    '-@all',
    '+@read',
    '+@connection',
    '+info',
    '+time',
    '+evalsha_ro',
    '+eval_ro',
  );
  await admin.quit();
  const reader = redis.url.replace('redis://', 'redis://reader:secret@');
  const [host] = (await client.hosts()).map((one) => one.host);
  const there = (await client.instances({ host: host ?? '' })).length;
  const line = `rehearse drain ${host} --store-url ${reader} --seeds 10 --parallel 1 --json`;
  // With two threads, as by itself.
  const rehearsing = startChild('services/cli/main.ts', `${line} --jobs 2`.split(' '));
  const { code } = await rehearsing.exit;
  expect([code, rehearsing.stderr().replace(/rehearsing.*/gs, '')]).toEqual([0, '']);
  const { metrics, hosts, instances, ageMs } = JSON.parse(rehearsing.stdout()) as Rehearsed;
  expect([hosts, instances]).toEqual([12, 60]);
  expect(ageMs).toBeLessThan(10_000);
  const startedMs = clock.elapsed();
  const parts = { client, clock, signal: new AbortController().signal, onProgress() {} };
  const drained = await drainHost(parts, { host: host ?? '', reason: 'drained', parallel: 1, timeoutMs: 60_000 });
  const seconds = (clock.elapsed() - startedMs) / 1_000;
  expect(drained.filter(({ stays }) => stays === undefined).length).toBe(there);
  expect(metrics['moved']).toMatchObject({ least: there, most: there });
  expect(metrics['broken']).toMatchObject({ most: 0 });
  expect(seconds).toBeGreaterThan(0.7 * (metrics['seconds']?.least ?? 0));
});

it('certifies that no host can take a request, and verifies it by the rows of the store', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-refusal-'));
  const file = join(folder, 'refusal.json');
  const env = { BERTH_BUS_URL: broker.url, BERTH_STORE_URL: redis.url };
  expect(await runLine(`explain --vcpu 65 --memory-mb 16 --certificate ${file}`, env)).toMatchObject({ code: 1 });
  const verified = await runLine(`verify-refusal ${file}`, env);
  expect([verified.code, verified.out]).toEqual([
    0,
    'It holds: of 12 hosts none could take it; refused 12 by capacity_vcpu.\n',
  ]);
  const altered = readFileSync(file, 'utf8').replace('"VCPU": 65', '"VCPU": 1');
  writeFileSync(file, altered);
  const refuted = await runLine(`verify-refusal ${file} --json`, env);
  expect([refuted.code, JSON.parse(refuted.out)]).toMatchObject([1, { holds: false, hostCount: 12 }]);
  writeFileSync(file, '{}');
  expect((await runLine(`verify-refusal ${file}`, env)).err).toContain('bad_certificate');
  rmSync(folder, { recursive: true });
});

interface Rehearsed {
  readonly metrics: Readonly<Record<string, { readonly least: number; readonly most: number }>>;
  readonly hosts: number;
  readonly instances: number;
  readonly ageMs: number;
}
