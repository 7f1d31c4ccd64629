import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startEmbedded } from '../../embedded/fleet';
import { runLine } from '../../testing/run-line';
import { saveFleet } from './read-fleet';

/* The command on a fleet that was saved: what it prints, and how it exits. */

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-rehearse-'));
  file = join(folder, 'fleet.json.gz');
  const context = { env: {}, clock: systemClock(), random: systemRandom, interrupted: new AbortController().signal };
  const size = { schedulers: 1, conductors: 1, hosts: 3, shape: { VCPU: 8 }, failureRate: 0, latencyMs: 0 };
  const fleet = await startEmbedded(context, size);
  const group = { id: 'quorum', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const spec = { projectId: 'p', userId: 'u', resources: { VCPU: 2 } };
  await fleet.client.buildAndWait({ spec: { ...spec, group }, count: 3 }, { timeoutMs: 20_000 });
  await fleet.client.buildAndWait({ spec, count: 3 }, { timeoutMs: 20_000 });
  await saveFleet(await fleet.snapshot(), file);
  await fleet.close();
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const rehearse = (words: string) => runLine(`rehearse ${words} --from ${file} --seeds 2 --jobs 1 --build-time 5`);

it('tells how long it takes, what moves and what is refused, on a fleet of a while ago', async () => {
  const { code, out } = await rehearse('drain host-1');
  expect(out).toContain('Drain host-1, rehearsed 2 times');
  expect(out).toMatch(/on 3 hosts with 6 instances, as they were \d+ s ago; nothing of the fleet was changed/);
  expect(out).toMatch(/refused +1 +1 +1 +1\n/);
  expect(out).toContain('no_valid_host');
  expect(code).toBe(0);
}, 60_000);

it('exits with 1 when a condition comes about', async () => {
  const svg = join(folder, 'timeline.svg');
  const { code, out } = await rehearse(`drain host-1 --fail-if refused>0 --svg ${svg}`);
  expect(out).toContain('came about: refused>0');
  expect(code).toBe(1);
  expect(await readFile(svg, 'utf8')).toContain('<polyline');
  expect(await rehearse('drain host-1 --fail-if refused>1')).toMatchObject({ code: 0 });
}, 60_000);

it('prints one JSON value for programs', async () => {
  const { out } = await rehearse('lose host-2 --evacuate --json');
  const { hosts, rehearsals, metrics, operation } = JSON.parse(out) as Record<string, Record<string, unknown>>;
  expect([hosts, rehearsals, operation]).toMatchObject([3, 2, { kind: 'lose', hosts: ['host-2'] }]);
  expect(metrics).toMatchObject({ refused: { least: 1, most: 1 }, broken: { most: 0 } });
}, 60_000);

it('tells which domain may be lost, the worst first', async () => {
  const { code, out } = await rehearse('lose --each host --evacuate --fail-if refused>1');
  expect(out).toMatch(/^HOST +HOSTS +MOVED +REFUSED +SECONDS +BECAUSE\n/);
  expect(out.match(/host-\d/g)).toHaveLength(3);
  expect(code).toBe(0);
  expect(await rehearse('lose --each host --evacuate --fail-if refused>0')).toMatchObject({ code: 1 });
  expect(await rehearse('lose --each rack')).toMatchObject({ code: 4 });
}, 60_000);

it('takes settings of the services, and refuses what is none', async () => {
  expect(await rehearse('disable host-1 --set BERTH_SCHEDULER_PROFILE=pack')).toMatchObject({ code: 0 });
  expect(await rehearse('disable host-1 --set BERTH_SCHEDULER_PROFIL=pack')).toMatchObject({ code: 2 });
  expect(await rehearse('disable host-9')).toMatchObject({ code: 4 });
  expect(await rehearse('drain host-1 --fail-if refusals>0')).toMatchObject({ code: 2 });
}, 60_000);

it('names a file that is no snapshot', async () => {
  const { code, err } = await runLine(`rehearse drain host-1 --from ${__filename}`);
  expect([code, err]).toEqual([2, expect.stringContaining('bad_snapshot')]);
});

it.each([
  ['upgrade host-1 --stopped 5', 'Upgrade host-1, one by one, rehearsed 2 times', 0],
  ['rebalance --even-out', 'Rebalance, to even out, rehearsed 2 times', 0],
  ['rebalance --empty host-1', 'finds no host', 0],
  ['quota --project p VCPU=20', 'Set the quota of p, rehearsed 2 times', 0],
  ['outage store --seconds 5', 'The store is away for 5 s, rehearsed 2 times', 0],
  ['flavor nothing --extra-spec a=b', '', 4],
  ['rebalance', '', 2],
  ['outage rabbit', '', 2],
])(
  'rehearses %s',
  async (words, said, expected) => {
    const { code, out } = await rehearse(words);
    expect(out).toContain(said);
    expect(code).toBe(expected);
  },
  60_000,
);
