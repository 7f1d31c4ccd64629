import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATALOGUE } from './catalogue';
import { runLine } from './testing/run-line';

/* Modules that a command loads before it acts: each invocation waits for them. */

const ROOT = join(__dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'berth-start-'));
const printer = join(folder, 'print-loaded.cjs');

beforeAll(() => {
  writeFileSync(printer, "process.on('exit', () => console.error(Object.keys(require.cache).join('\\n')));");
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Packages and services that a command line loads: `amqplib`, `services/scheduler`. */
function loadedBy(...args: readonly string[]): Set<string> {
  const hooks = ['--require', join(ROOT, 'libs/testing/typescript.cjs'), '--require', printer];
  const berth = ['--conditions=berth-source', ...hooks, join(ROOT, 'services/cli/main.ts'), ...args];
  const { stderr } = spawnSync(process.execPath, berth, { encoding: 'utf8', env: {} });
  const found = stderr.match(/(?<=node_modules\/)(@[^/]+\/)?[^/]+|services\/[^/]+(?=\/)|libs\/contracts\/generated/g);
  return new Set(found ?? []);
}

const HEAVY = ['amqplib', 'protobufjs', 'libs/contracts/generated', 'ioredis', 'fastify', 'prom-client'];
const SERVICES = ['scheduler', 'conductor', 'compute-agent', 'placement-api', 'console'];

it.each([[['--version']], [['--help']]])('loads nothing for %s but the command line', (args) => {
  const loaded = loadedBy(...args);
  expect([...HEAVY, ...SERVICES.map((name) => `services/${name}`)].filter((name) => loaded.has(name))).toEqual([]);
  expect(loaded.has('commander')).toBe(true);
});

it.each([[['host', 'list', '--help']], [['demo', '--help']], [['trace', 'replay', '--help']]])(
  'loads no server and no store for %s',
  (args) => {
    const loaded = loadedBy(...args);
    expect(['ioredis', 'fastify', '@opentelemetry/sdk-trace-node'].filter((name) => loaded.has(name))).toEqual([]);
  },
);

it.each(CATALOGUE.flatMap(({ commands }) => commands))('has its sentence in the help of berth $name', async (entry) => {
  const { out } = await runLine(`${entry.name} --help`);
  expect(out).toContain(`Usage: berth ${entry.name}`);
  expect(out.replaceAll(/\s+/g, ' ')).toContain(entry.description);
});
