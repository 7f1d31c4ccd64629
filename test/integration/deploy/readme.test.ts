import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { CATALOGUE } from '../../../services/cli/catalogue';
import { ownVirtualHost } from '../../shared-servers';

/* The README's processes, one by one, as a reader starts them: with the variables that it names, and no others. */

const README = readFileSync(join(__dirname, '../../../README.md'), 'utf8');
/** All but the one that needs a Nova (`test/integration/nova`). */
const SERVICES = (CATALOGUE.find(({ heading }) => heading === 'Run its services:')?.commands ?? [])
  .map(({ name }) => name)
  .filter((name) => name !== 'nova-scheduler');
/** Free ports, whatever else runs on this machine. */
const PORTS = { BERTH_HTTP_PORT: '0', BERTH_PLACEMENT_PORT: '0', BERTH_CONSOLE_PORT: '0' };

interface Line {
  readonly service: string;
  /** Variables before the command, and exported ones before that. */
  readonly assignments: readonly string[];
}

function linesOf(markdown: string): Line[] {
  const exported: string[] = [];
  return markdown.split('\n').flatMap((line) => {
    if (line.startsWith('export BERTH_')) exported.push(line);
    const [, own = '', service = ''] = /^((?:\w+=\S+ )*)npx berth ([\w-]+) *(?:#|$)/.exec(line) ?? [];
    return SERVICES.includes(service) ? [{ service, assignments: [...exported, own && `export ${own}`] }] : [];
  });
}

const LINES = linesOf(README);

let servers: readonly Pick<TestServer, 'url' | 'stop'>[];
let started: Child | undefined;
beforeAll(async () => {
  servers = await Promise.all([ownVirtualHost(), startRedis()]);
});
afterEach(async () => {
  started?.process.kill('SIGTERM');
  await started?.exit;
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

it('has all of them', () => {
  expect([...new Set(LINES.map(({ service }) => service))].sort()).toEqual([...SERVICES].sort());
});

it.each(LINES)('$service runs with what the README sets', async ({ service, assignments }) => {
  const script = `${assignments.join('\n')}\nenv`;
  const said = execFileSync('sh', ['-c', script], { env: { PATH: environment()['PATH'] }, encoding: 'utf8' });
  const set = Object.fromEntries(
    said
      .split('\n')
      .flatMap((line) => [...line.matchAll(/^(BERTH_\w+)=(.*)$/g)].map(([, name, value]) => [name, value])),
  );
  const [bus, store] = servers;
  const url = { BERTH_BUS_URL: bus?.url ?? '', BERTH_STORE_URL: store?.url ?? '' };
  started = startChild('services/cli/main.ts', [service], { BERTH_CLAIM_KEY: '', ...set, ...url, ...PORTS });
  await expect(started.says('"msg":"running"')).resolves.toBeUndefined();
});
