import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startEmbedded } from '../../embedded/fleet';
import { runLine } from '../../testing/run-line';
import { saveFleet } from '../rehearse/read-fleet';

/* The commands on a record of a fleet in this process: what they print, and how they exit. */

let folder: string;
let instance: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-record-'));
  const env = { BERTH_SCHEDULER_RECORD_FOLDER: folder };
  const context = { env, clock: systemClock(), random: systemRandom, interrupted: new AbortController().signal };
  const size = { schedulers: 1, conductors: 1, hosts: 2, shape: { VCPU: 8 }, failureRate: 0, latencyMs: 0 };
  const fleet = await startEmbedded(context, size);
  const spec = { projectId: 'p', userId: 'u', resources: { VCPU: 2 } };
  const [, second] = await fleet.client.buildAndWait({ spec, count: 2 }, { timeoutMs: 20_000 });
  instance = second?.instanceUuid ?? '';
  await fleet.client.buildAndWait({ spec: { ...spec, resources: { VCPU: 8 } } }, { timeoutMs: 20_000 }).catch(() => {});
  await fleet.close();
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const run = (words: string) => runLine(`${words} --record-folder ${folder}`);

it('verifies a record: each decision made again', async () => {
  const { code, out } = await run('record verify');
  expect(out).toMatch(/SEGMENT +BEGINS +VERSION +DECISIONS +DIFFERENT/);
  expect(out).toMatch(/\.record .* 2 +0\n/);
  expect(code).toBe(0);
});

it('explains a decision with all hosts, and what it would have been', async () => {
  const { code, out } = await run(`explain --instance ${instance} --at 2999-01-01 --with weight=cpu:-1`);
  expect(out).toMatch(/made again +the same/);
  expect(out).toContain('2 of 2 hosts fit');
  expect(out).toContain('with weight=cpu:-1: ');
  expect(out).toContain('1 were refused and would have found a host');
  expect(code).toBe(0);
  const { out: json } = await run(`explain --instance ${instance} --with host-down=host-1 --json`);
  expect(JSON.parse(json)).toMatchObject({ isSame: true, instead: { regret: { count: 1 } } });
});

it('exports it under other names, for another folder', async () => {
  const file = join(folder, 'report.gz');
  expect(await run(`record export ${file} --anonymize`)).toMatchObject({ code: 0, out: `1 segment in ${file}\n` });
  const other = join(folder, 'other');
  expect(await runLine(`record import ${file} --record-folder ${other}`)).toMatchObject({ code: 0 });
  const { out } = await runLine(`record verify --json --record-folder ${other}`);
  expect(JSON.parse(out)).toMatchObject([{ decisions: 2, different: [] }]);
});

it('rehearses what tenants did on another fleet', async () => {
  const context = { env: {}, clock: systemClock(), random: systemRandom, interrupted: new AbortController().signal };
  const size = { schedulers: 1, conductors: 1, hosts: 1, shape: { VCPU: 4 }, failureRate: 0, latencyMs: 0 };
  const fleet = await startEmbedded(context, size);
  const file = join(folder, 'fleet.json.gz');
  await saveFleet(await fleet.snapshot(), file);
  await fleet.close();
  const { out, code } = await run(`rehearse traffic --traffic 600 --from ${file} --seeds 1 --jobs 1 --json`);
  // The host takes two of the three: those of 2 VCPU. The one of 8 does not fit.
  const most = (count: number) => ({ most: count });
  expect(JSON.parse(out)).toMatchObject({ metrics: { unplaced: most(1), broken: most(0), unfinished: most(0) } });
  expect(code).toBe(0);
  expect(await runLine(`rehearse traffic --traffic 600 --from ${file}`)).toMatchObject({ code: 2 });
}, 60_000);

it('says what is missing or wrong', async () => {
  expect(await runLine('record verify')).toMatchObject({ code: 2, err: expect.stringContaining('--record-folder') });
  expect(await run('explain --instance web-1 --at 2999-01-01')).toMatchObject({ code: 2 });
  expect(await run(`explain --instance ${instance} --at 2001-01-01`)).toMatchObject({ code: 4 });
  expect(await run(`explain --instance ${instance} --with weight=moon:1`)).toMatchObject({ code: 2 });
  expect(await run(`explain --instance ${instance} --at noon`)).toMatchObject({ code: 2 });
});
