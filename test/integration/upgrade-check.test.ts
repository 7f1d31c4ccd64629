import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import { runLine } from '../../services/cli/testing/run-line';
import { sharedServer } from '../shared-servers';

/* `berth upgrade check` on a real store: its exit codes are those of `nova-status upgrade check`. */

let redis: Redis;
let env: Record<string, string>;
beforeEach(() => {
  redis = new Redis(sharedServer('redis'));
  env = { BERTH_STORE_URL: sharedServer('redis'), BERTH_CELL: randomUUID() };
});
afterEach(() => redis.quit());

async function check(settings: Readonly<Record<string, string>> = {}) {
  const { code, out, err } = await runLine('upgrade check --json', { ...env, ...settings });
  return { code, err, ...(out === '' ? {} : (JSON.parse(out) as { result: string; checks: { details: string[] }[] })) };
}

async function report(): Promise<void> {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const store = await openPlacementStore(readConfig(placementOptions, env), around);
  await mustReport(store, aReport({ atMs: systemClock().now() }));
  await store.close();
}

it('succeeds with 0, and writes nothing', async () => {
  await report();
  const before = await redis.keys(`{${env['BERTH_CELL']}}*`);
  expect(await check()).toMatchObject({ code: 0, result: 'success' });
  expect((await redis.keys(`{${env['BERTH_CELL']}}*`)).sort()).toEqual(before.sort());
  expect((await runLine('upgrade check', env)).out).toMatch(/CHECK\s+RESULT\s+DETAILS[^]*Hosts\s+success/);
});

it('warns with 1 of a store without hosts', async () => {
  expect(await check()).toMatchObject({ code: 1, result: 'warning' });
  expect(await redis.keys(`{${env['BERTH_CELL']}}*`)).toEqual([]);
});

it.each([
  [99, 'a later release'],
  [1, 'a release too long ago'],
])('fails with 2 for rows of form %i, of %s', async (form) => {
  await redis.set(`{${env['BERTH_CELL']}}:schema`, form);
  const { code, checks } = await check();
  expect([code, checks?.flatMap(({ details }) => details)]).toEqual([2, [expect.stringContaining(`form ${form}`)]]);
});

it('ends with 255 when the store can not be read', async () => {
  // Long enough to fail a test that waits for it.
  const patient = { BERTH_STORE_TIMEOUT_MS: '60000' };
  for (const kind of ['redis', 'redis+cluster', 'redis+sentinel']) {
    const storeUrl = `${kind}://me:secret@127.0.0.1:1${kind === 'redis+sentinel' ? '/name' : ''}`;
    const { code, err } = await check({ BERTH_STORE_URL: storeUrl, ...patient });
    expect(err).toContain(`no store at ${storeUrl.replace('me:secret@', '')}:`);
    expect(err).toContain('is BERTH_STORE_URL right');
    expect(err).not.toContain('secret');
    expect(code).toBe(255);
  }
  expect((await check({ BERTH_STORE_URL: 'memory:' })).code).toBe(255);
});

it('checks a nova.conf, also without a store', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-nova-conf-'));
  const file = join(folder, 'nova.conf');
  const quiet = '[filter_scheduler]\nbuild_failure_weight_multiplier = 0\npci_weight_multiplier = 0\n';
  const checkFile = async (text: string, settings = {}) => {
    await writeFile(file, text);
    return (await runLine(`upgrade check --json --nova-conf ${file}`, settings)).code;
  };
  expect(await checkFile(quiet)).toBe(0);
  expect(await checkFile('')).toBe(1);
  expect(await checkFile(`${quiet}enabled_filters = MyFilter`)).toBe(2);
  await report();
  expect(await checkFile(`${quiet}enabled_filters = MyFilter`, env)).toBe(2);
  await rm(folder, { recursive: true });
  expect(await runLine(`upgrade check --nova-conf ${file}`, {})).toMatchObject({
    code: 255,
    err: expect.stringContaining('unreadable_file'),
  });
});
