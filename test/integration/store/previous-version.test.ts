import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  buildInstanceCodec,
  buildReportCodec,
  destroyInstanceCodec,
  hostDiscrepancyCodec,
} from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { openInstanceStore } from '#libs/instances/open';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { settleProjects } from '#libs/quotas/settle-projects';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { nextVersion } from '#libs/testing/instances/instance';
import { aReport, commit, contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { schedulerOptions } from '../../../services/scheduler/options';
import { sharedServer } from '../../shared-servers';

/*
 * Rows and messages of the previous version: its code made `previous-version.json`, all keys of a cell and one message of
 * each type. A release that changes a stored form or a message first adds a file of its own here.
 */

type Row =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'hash'; readonly value: Readonly<Record<string, string>> }
  | { readonly type: 'zset'; readonly value: readonly string[] }
  | { readonly type: 'stream'; readonly value: readonly [id: string, fields: string[]][] };

const previous = JSON.parse(readFileSync(join(__dirname, 'previous-version.json'), 'utf8')) as {
  readonly claimToken: number;
  readonly epoch: number;
  readonly rows: Readonly<Record<string, Row>>;
  readonly messages: Readonly<Record<string, string>>;
};
const HOST_PROVIDER = 'a0000000-0000-4000-8000-000000000001';
const [ACTIVE, SCHEDULING, DELETED] = [1, 2, 3].map((n) => `b0000000-0000-4000-8000-00000000000${n}`);

jest.setTimeout(60_000);
const redis = new Redis(sharedServer('redis'));
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});
afterAll(() => redis.disconnect());

async function load(cell: string): Promise<void> {
  for (const [name, row] of Object.entries(previous.rows)) {
    const key = name.replace('{cell1}', `{${cell}}`);
    if (row.type === 'string') await redis.set(key, row.value);
    else if (row.type === 'hash') await redis.hset(key, row.value);
    else if (row.type === 'stream') for (const [id, fields] of row.value) await redis.xadd(key, id, ...fields);
    else
      for (let i = 0; i < row.value.length; i += 2) await redis.zadd(key, row.value[i + 1] ?? '', row.value[i] ?? '');
  }
}

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
  await load(cell);
  const { placement, around } = await open(cell);
  // The stream is followed from before this version's first entry.
  const mirror = await Mirror.open(placement, around);
  opened.push(mirror);
  // The previous version did not count projects' usage: a scheduler does it once.
  const config = { ...readConfig(schedulerOptions, {}), usageDays: 1 };
  await settleProjects({ ...around, placement, mirror, config });
  const contents = await contentsOf(placement);
  expect(violationsOf(contents)).toEqual([]);
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
  const consumerUuid = ACTIVE ?? '';
  const released = await commit(placement, { kind: 'release_claim', consumerUuid, claimToken: previous.claimToken });
  expect(released.kind).toBe('committed');
  while (mirror.consumer(consumerUuid)) await pass(5);
  expect(mirror.usage(HOST_PROVIDER)).toEqual({ VCPU: 1 });
});

it('goes on with the instances and the leases of the version before', async () => {
  const cell = randomUUID();
  await load(cell);
  const { instances } = await open(cell);
  const [active, scheduling] = await instances.get([ACTIVE ?? '', SCHEDULING ?? '']);
  expect(active).toMatchObject({ state: 'active', host: 'host-1', claimToken: previous.claimToken, version: 2 });
  expect(scheduling).toMatchObject({ state: 'scheduling', dueAtMs: 1_700_000_060_000, projectId: 'project-1' });
  if (!scheduling) throw new Error('no such instance');
  expect((await instances.update(nextVersion(scheduling, { state: 'building', host: 'host-2' }))).updated).toBe(true);
  expect(await instances.list({ host: 'host-1' }, undefined, 10)).toEqual([active]);
  expect(await instances.forget(2_000, 10)).toBe(1);
  expect(await instances.get([DELETED ?? ''])).toEqual([]);
  expect(await instances.acquire('audit', 'conductor-2', 1_000)).toBeUndefined();
  expect(await instances.acquire('audit', 'conductor-1', 1_000)).toEqual({ epoch: previous.epoch });
});

const CODECS = {
  BuildInstance: buildInstanceCodec,
  BuildReport: buildReportCodec,
  DestroyInstance: destroyInstanceCodec,
  HostDiscrepancy: hostDiscrepancyCodec,
  BuildRequest: buildRequestCodec,
  TerminateInstance: terminateInstanceCodec,
  InstanceEvent: instanceEventCodec,
  SelectDestinations: selectDestinationsMethod.request,
  UpdateResourceStats: updateResourceStatsMethod.request,
};

it('has a message of each type', () => {
  expect(Object.keys(previous.messages).sort()).toEqual(Object.keys(CODECS).sort());
});

it.each(Object.entries(CODECS))('reads a %s of the version before', (name, codec) => {
  const decoded: object = codec.decode(Buffer.from(previous.messages[name] ?? '', 'base64'));
  expect(Object.values(decoded).length).toBeGreaterThan(1);
});

it('refuses a store that a later release has written, and says so', async () => {
  const cell = randomUUID();
  await redis.set(`{${cell}}:schema`, 9);
  await expect(open(cell)).rejects.toMatchObject({ code: 'failed_precondition', reason: 'store_too_new' });
});
