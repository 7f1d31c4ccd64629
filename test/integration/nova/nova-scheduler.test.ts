import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Decision } from '#libs/contracts/diagnosis';
import type { ShadowReport } from '#libs/contracts/shadow-report';
import { urlIn } from '#libs/testing/servers/child';
import { runLine } from '../../../services/cli/testing/run-line';
import { sharedServer } from '../../shared-servers';
import { eventually } from '../test-cell';
import { aNovaCloud, CELL_UUID } from './nova-cloud';

let cloud: Awaited<ReturnType<typeof aNovaCloud>>;
beforeAll(async () => {
  cloud = await aNovaCloud({ rabbitmq: sharedServer('rabbitmq'), redis: sharedServer('redis') }, 3);
  await cloud.launch();
});
afterAll(() => cloud.close());

it("answers Nova's own client, which reads its own objects", async () => {
  const [boot, many, refused, group, old] = await cloud.client('boot', 'many', 'refused', 'group', 'old', 'fanouts');
  const { uuids, selections } = boot as { uuids: string[]; selections: Record<string, unknown>[][] };
  expect(selections[0]).toHaveLength(3);
  const [selected] = selections[0] ?? [];
  expect(selected).toMatchObject({ cell: CELL_UUID, zone: 'nova', version: '1.36', limits: {} });
  const [consumer] = await cloud.store.consumers(uuids);
  const resources = { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 };
  expect(selected?.['claims']).toMatchObject({ allocations: { [String(selected?.['uuid'])]: { resources } } });
  expect(consumer).toMatchObject({ owner: 'api', allocations: { [String(selected?.['uuid'])]: resources } });
  expect((many as { selections: unknown[] }).selections).toHaveLength(4);
  expect(await cloud.store.consumers((many as { uuids: string[] }).uuids)).toHaveLength(4);
  expect(refused).toEqual({
    reason: '3 hosts: placement refuses 3 (trait CUSTOM_NOPE is missing: 3).',
    message: 'No valid host was found. 3 hosts: placement refuses 3 (trait CUSTOM_NOPE is missing: 3).',
    request: expect.stringMatching(/^req-/),
  });
  expect(new Set((group as { hosts: string[] }).hosts).size).toBe(2);
  expect(old).toEqual({ answer: [{ host: expect.any(String), nodename: expect.any(String), limits: {} }] });
});

it("explains a request by Nova's id of it, in the words of its fault", async () => {
  const [refused] = (await cloud.client('refused')) as { reason: string; request: string }[];
  const env = await cloud.launchExplainer();
  const explain = (...more: string[]) => runLine(['explain', '--request', refused?.request ?? '', ...more], env);
  // A decision is kept a moment after its answer.
  await eventually('the decision is kept', async () => (await explain()).code === 0);
  expect((await explain()).out).toMatch(/selected +no host/);
  expect((JSON.parse((await explain('--json')).out) as Decision).diagnosis.summary).toBe(refused?.reason);
});

it('records decisions that come out alike when they are made again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-nova-record-'));
  try {
    const scheduler = await cloud.launch({ BERTH_NOVA_HOST: 'recorded', BERTH_NOVA_RECORD_FOLDER: folder });
    // Two schedulers share the topic.
    await cloud.client('boot', 'refused', 'boot', 'refused', 'boot', 'many');
    scheduler.process.kill('SIGTERM');
    await scheduler.exit;
    const { out, code } = await runLine(`record verify --json --record-folder ${folder}`, {});
    const segments = JSON.parse(out) as { decisions: number; different: unknown[] }[];
    expect(segments.flatMap(({ different }) => different)).toEqual([]);
    expect(segments.reduce((sum, { decisions }) => sum + decisions, 0)).toBeGreaterThanOrEqual(2);
    expect(code).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('compares in shadow with the scheduler that answers, and reports it', async () => {
  const shadow = await cloud.launch({
    BERTH_NOVA_SHADOW: 'true',
    BERTH_NOVA_HOST: 'shadow',
    BERTH_NOVA_SHADOW_WAIT_MS: '2000',
    BERTH_LOG_LEVEL: 'debug',
  });
  const url = urlIn(shadow);
  const report = async () => {
    const { out, err, code } = await runLine(`nova report --json --nova-shadow-url ${url}`, {});
    if (code !== 0) throw new Error(err);
    return JSON.parse(out) as ShadowReport;
  };
  expect((await report()).outcomes.same).toBe(0);
  await cloud.client('many', 'refused');
  // Those of one request are compared whenever their claims are seen.
  await Promise.all([shadow.says('"outcome":"neither"'), shadow.says(/(?:"outcome":"same"[^]*){4}/)]);
  expect(await report()).toMatchObject({ outcomes: { same: 4, neither: 1, different: 0 }, differences: [] });
  const { out } = await runLine(`nova report --nova-shadow-url ${url}`, {});
  expect(out).toMatch(/chose alike +5, 100.0 %/);
});

it('compares in shadow through a lens, where placement is not to be changed', async () => {
  const copy = `${cloud.settings.BERTH_CELL}-copy`;
  const api = async (cell: string) => {
    const child = await cloud.start(['placement-api'], cell, 'api_listening', {
      BERTH_PLACEMENT_PORT: '0',
      BERTH_PLACEMENT_AUTH: 'noauth',
    });
    return urlIn(child, 'api_listening');
  };
  const [theirs, ours] = await Promise.all([api(cloud.settings.BERTH_CELL), api(copy)]);
  const sides = ['--from', theirs, '--from-token', 'admin', '--placement-url', ours, '--interval-ms', '200'];
  await cloud.start(['placement', 'import', ...sides, '--follow', '--delete-extra'], copy, /\d+ writes? in \d+ ms/);
  const shadow = await cloud.launch({
    BERTH_CELL: copy,
    BERTH_NOVA_SHADOW: 'true',
    BERTH_NOVA_HOST: 'lens',
    BERTH_NOVA_SHADOW_WAIT_MS: '10000',
    BERTH_LOG_LEVEL: 'debug',
  });
  await cloud.client('many', 'refused');
  await shadow.says('"outcome":"neither"');
  const url = urlIn(shadow);
  const { outcomes } = (await (await fetch(`${url}/shadow`)).json()) as ShadowReport;
  // With a copy that is one poll old, or with Nova's later claims, another of several equal hosts may be chosen.
  expect([outcomes.neither, outcomes.same + outcomes.different]).toEqual([1, 4]);
  expect(outcomes.same).toBeGreaterThan(0);
});
