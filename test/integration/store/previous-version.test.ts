import { randomUUID } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openInstanceStore } from '#libs/instances/open';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { nextVersion } from '#libs/testing/instances/instance';
import { aReport, commit, contentsOf, mustReport } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { sharedServer } from '../../shared-servers';
import { loadRows } from '../../upgrade/cell-rows';
import { readRecordedCell } from '../../upgrade/fixtures';
import { SAMPLES } from '../../upgrade/sample-messages';
import { ACTIVE, DELETED, DELETED_AT_MS, HOST_PROVIDER, SCHEDULING } from '../../upgrade/scripted-cell';

/*
 * Rows and messages of the previous version: its code wrote `previous-version.json` (`npm run upgrade-fixtures`), all keys of
 * a cell and one message of each type.
 */

const previous = readRecordedCell();

const redis = new Redis(sharedServer('redis'));
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});
afterAll(() => redis.disconnect());

async function open(cell: string) {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: sharedServer('redis'), BERTH_CELL: cell });
  const placement = await openPlacementStore(config, around);
  opened.push(placement);
  const instances = await openInstanceStore(config, around);
  opened.push(instances);
  return { placement, instances, around };
}

it('goes on with the providers, hosts and claims of the version before', async () => {
  const cell = randomUUID();
  await loadRows(redis, previous.rows, cell);
  const { placement, around } = await open(cell);
  // The stream is followed from before this version's first entry.
  const mirror = await Mirror.open(placement, around);
  opened.push(mirror);
  const contents = await contentsOf(placement);
  expect(violationsOf(contents)).toEqual([]);
  const usages = await placement.projectUsages();
  expect(new Map(usages.map(({ projectId, used }) => [projectId, used]))).toEqual(
    new Map([
      ['project-1', { VCPU: 2, CUSTOM_GOLD: 1, instances: 1 }],
      ['pröjekt', { VCPU: 1, instances: 1 }],
    ]),
  );
  expect(contents.hosts).toMatchObject([{ name: 'host-1', enabled: false, disabledReason: 'new disks' }]);
  expect(contents.consumers.map(({ uuid, projectId, owner }) => [uuid, projectId, owner])).toEqual([
    [ACTIVE, 'project-1', 'conductor'],
    [SCHEDULING, 'pröjekt', 'api'],
  ]);
  // A host that continues reporting, with the next sequence of its run.
  const reported = await placement.reportHost(aReport({ sequence: 3, atMs: systemClock().now() }));
  expect(['committed', 'unchanged']).toContain(reported.kind);
  expect((await placement.reportHost(aReport({ sequence: 3, atMs: systemClock().now() }))).kind).toBe('stale');
  // A claim released with its original token.
  const consumerUuid = ACTIVE;
  const released = await commit(placement, { kind: 'release_claim', consumerUuid, claimToken: previous.claimToken });
  expect(released.kind).toBe('committed');
  while (mirror.consumer(consumerUuid)) await pass(5);
  expect(mirror.usage(HOST_PROVIDER)).toEqual({ VCPU: 1 });
});

it('goes on with the instances and the leases of the version before', async () => {
  const cell = randomUUID();
  await loadRows(redis, previous.rows, cell);
  const { instances } = await open(cell);
  const [active, scheduling] = await instances.get([ACTIVE, SCHEDULING]);
  expect(active).toMatchObject({ state: 'active', host: 'host-1', claimToken: previous.claimToken, version: 2 });
  expect(scheduling).toMatchObject({ state: 'scheduling', dueAtMs: 1_700_000_060_000, projectId: 'project-1' });
  if (!scheduling) throw new Error('no such instance');
  expect((await instances.update(nextVersion(scheduling, { state: 'building', host: 'host-2' }))).updated).toBe(true);
  expect(await instances.list({ host: 'host-1' }, undefined, 10)).toEqual([active]);
  expect(await instances.forget(DELETED_AT_MS + 1, 10)).toBe(1);
  expect(await instances.get([DELETED])).toEqual([]);
  expect(await instances.acquire('audit', 'conductor-2', 1_000)).toBeUndefined();
  expect(await instances.acquire('audit', 'conductor-1', 1_000)).toEqual({ epoch: previous.epoch });
});

it('has a message of each type', () => {
  expect(Object.keys(previous.messages).sort()).toEqual(Object.keys(SAMPLES).sort());
});

it.each(Object.entries(SAMPLES))('reads a %s of the version before', (name, { decode, message }) => {
  expect(decode(Buffer.from(previous.messages[name] ?? '', 'base64'))).toEqual(message);
});

it.each([
  [9, 'store_too_new'],
  [1, 'store_too_old'],
])('refuses a store with rows of form %i: %s', async (form, reason) => {
  const cell = randomUUID();
  await redis.set(`{${cell}}:schema`, form);
  await expect(open(cell)).rejects.toMatchObject({ code: 'failed_precondition', reason });
  expect(await redis.get(`{${cell}}:schema`)).toBe(String(form));
});

it('takes rows without a form as of the first, and records the form again in a store that was emptied', async () => {
  const cell = randomUUID();
  const { placement } = await open(cell);
  const schema = await redis.get(`{${cell}}:schema`);
  await redis.del(`{${cell}}:schema`);
  await mustReport(placement, aReport());
  expect(await redis.get(`{${cell}}:schema`)).toBe(schema);
  await redis.del(`{${cell}}:schema`);
  await expect(open(cell)).rejects.toMatchObject({ reason: 'store_too_old' });
});
