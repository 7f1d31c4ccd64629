import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Child, startChild } from '#libs/testing/servers/child';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../services/cli/testing/run-line';
import { type CommandLine, commandLines } from '../docs-site/command-lines';
import { CONTENTS, readSources } from '../docs-site/repository';
import { ownVirtualHost } from '../shared-servers';

/*
 * Runs every command line of `berth` in the pages' code blocks on one fleet, in the order of the page, except those that
 * another test runs.
 */

const DOCS = CONTENTS.replace('README.md', '');

/** Commands that are not run here, with reasons. The first match counts. */
const LEFT_OUT: readonly (readonly [typed: RegExp, why: string])[] = [
  [
    /^demo /,
    'has a fleet of its own: services/cli/program.test.ts tells each story, deploy/docs.test.ts opens the console',
  ],
  [/^up\b/, 'is the fleet of this test'],
  [
    /^(scheduler|conductor|placement-api|console|compute-agent)\b/,
    'goes on: deploy/readme.test.ts starts each service',
  ],
  [/^top-(scheduler|conductor)\b/, 'goes on: deploy/readme.test.ts starts each service'],
  [/^nova-scheduler\b/, 'goes on, and needs a Nova: test/integration/nova'],
  [/^nova report /, 'asks a shadow beside a Nova: test/integration/nova'],
  [/^placement import /, 'copies between two placement APIs: services/cli/placement-import/import.test.ts'],
  [/^(cell |build --cell top)/, 'needs a fleet of cells: cells/compose.test.ts'],
  [/^(agent enrol|project credentials)/, 'needs users of a deployment: deploy/enrol.test.ts'],
  [/^events /, 'goes on until Ctrl-C: up.test.ts'],
  [/--certificate |^verify-refusal /, 'writes and reads a file: operations/rehearse.test.ts'],
  [/^rehearse /, 'names hosts, racks and zones, and starts threads: operations/rehearse.test.ts'],
  [/^(instance evacuate|host delete) /, 'its host must be dead: operations/evacuation.test.ts'],
];

const PAGES = pagesOf(commandLines(readSources(join(__dirname, '../..'))));

const folder = mkdtempSync(join(tmpdir(), 'berth-documented-'));
let servers: readonly Pick<TestServer, 'url' | 'stop'>[] = [];
let up: Child;
let env: Record<string, string> = {};
/** An instance with an old enough decision to be stored: schedulers collect them for a moment. */
let first: string;

beforeAll(async () => {
  servers = await Promise.all([ownVirtualHost(), startRedis()]);
  const port = String(await freePort());
  env = {
    BERTH_BUS_URL: servers[0]?.url ?? '',
    BERTH_STORE_URL: servers[1]?.url ?? '',
    BERTH_PLACEMENT_URL: `http://127.0.0.1:${port}`,
    BERTH_PLACEMENT_TOKEN: 'admin',
    BERTH_SCHEDULER_RECORD_FOLDER: join(folder, 'record'),
  };
  const ports = { BERTH_PLACEMENT_PORT: port, BERTH_CONSOLE_PORT: '0' };
  up = startChild('services/cli/main.ts', ['up', '--hosts', '20'], { ...env, ...ports, BERTH_AGENT_HOST: 'host' });
  await Promise.all([up.says(/^placement-api-1 .*"msg":"running"/m), up.says(/^compute-agent .*"msg":"running"/m)]);
  first = (await berth('build --vcpu 1 --memory-mb 512 --wait-for-capacity 1m --wait -o name')).trim();
  // The pages' preconditions.
  await berth('aggregate create rack --property rack=R');
  await berth('aggregate add-host rack host-20');
  const trace = ['vmId,tenantId,cores,ram,vmTypeId,starttime,endtime', 'a,t,4,4,0,1,2', ''];
  writeFileSync(join(folder, 'requests.csv.gz'), gzipSync(trace.join('\n')));
  const withoutLosses = ['[filter_scheduler]', 'build_failure_weight_multiplier = 0', 'pci_weight_multiplier = 0', ''];
  writeFileSync(join(folder, 'nova.conf'), withoutLosses.join('\n'));
});

afterAll(async () => {
  up.process.kill('SIGTERM');
  await up.exit;
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});

it('leaves nothing out that does not stand there', () => {
  const typed = [...PAGES.values()].flat();
  expect(LEFT_OUT.filter(([pattern]) => !typed.some((line) => pattern.test(line)))).toEqual([]);
});

it.each([...PAGES].filter(([, lines]) => lines.some(isTyped)))(
  '%s: its commands do what they say',
  async (_, lines) => {
    for (const line of lines.filter(isTyped)) {
      const typed = await withoutPlaceholders(line);
      await expect(berth(typed)).resolves.toBeDefined();
      // An undecided move to the host that is drained next would stay there.
      const [, moved] = /^instance (?:resize|migrate) (\S+)/.exec(typed) ?? [];
      if (moved !== undefined) await berth(`instance confirm ${moved} --wait`);
    }
    const left = (await berth('instance list -o name')).trim().split('\n');
    await berth(`terminate ${left.join(' ')} --wait`);
  },
);

/** The commands of each page; deploy/docs.test.ts runs the `sh` blocks in the documentation's own folder. */
function pagesOf(lines: readonly CommandLine[]): ReadonlyMap<string, readonly string[]> {
  const here = lines.filter(({ path, language }) => !(path.startsWith(DOCS) && language === 'sh'));
  const typedOn = (page: string) => here.filter(({ path }) => path === page).map(({ typed }) => typed);
  return new Map(here.map(({ path }) => [path, typedOn(path)]));
}

function isTyped(line: string): boolean {
  return !LEFT_OUT.some(([pattern]) => pattern.test(line));
}

/** Replaces the reader's placeholders by a new instance, a host, and this test's servers. */
async function withoutPlaceholders(line: string): Promise<string> {
  const uuid = /\bINSTANCE\b/.test(line) ? (await berth('build --vcpu 1 --memory-mb 512 --wait -o name')).trim() : '';
  return line
    .replace(/\bINSTANCE\b/, uuid)
    .replace(/\bUUID\b/, first)
    .replace(/\bHOST\b/, 'host-20')
    .replace('--since TIME', '--since 2026-01-01')
    .replace(/\bTIME\b/, '2999-01-01')
    .replace(/\bREVISION\b/, String(Number.MAX_SAFE_INTEGER))
    .replace(/(?:\.\/)?\breport(?=\.gz|$)/g, join(folder, 'report'))
    .replace(/redis:\S+/, env['BERTH_STORE_URL'] ?? '')
    .replace(/amqp:\S+/, env['BERTH_BUS_URL'] ?? '')
    .replace('/etc/nova/...', join(folder, 'nova.conf'))
    .replace('requests.csv.gz', join(folder, 'requests.csv.gz'));
}

/** The output of a successful command. */
async function berth(line: string): Promise<string> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const { code, out, err } = await runLine(words, env);
  if (code !== 0) throw new Error(`berth ${line}: exit code ${code}: ${err}`);
  return out;
}
