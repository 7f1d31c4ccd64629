import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '#libs/bus/open';
import { type Bus, DEAD_LETTERS } from '#libs/bus/port';
import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { listHostsMethod } from '#libs/contracts/hosts';
import { BUILD_REQUESTS, RPC_SCHEDULER } from '#libs/contracts/queues';
import { type Clock, sleep } from '#libs/domain/clock';
import type { Instance } from '#libs/domain/instance';
import { openInstanceStore } from '#libs/instances/open';
import type { InstanceStore } from '#libs/instances/store';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { ROOT, SOURCES_FILE } from '../../upgrade/fixtures';

/*
 * Processes of the previous version beside those of this one, on one broker and one store, while builds go on. The previous version is the
 * one that wrote `previous-version.json` (`test/integration/store`): `previous-version.tar.gz` has the sources of its services, without
 * their tests (`npm run upgrade-fixtures`).
 */

const KINDS = ['scheduler', 'conductor', 'compute-agent'] as const;
type Kind = (typeof KINDS)[number];
const HOSTS = 3;
const ALL_HOSTS = { host: '', marker: '', limit: HOSTS };
/** Time between requests. */
const REQUEST_EVERY_MS = 150;
const AT_REST = new Set(['active', 'deleted']);

let previousRoot: string;
let rabbitmq: RabbitmqServer;
let redis: TestServer;
let bus: Bus;
let placement: PlacementStore;
let instances: InstanceStore;
let stateDir: string;
let running: Map<Kind, Child>;
const clock: Clock = systemClock();

beforeAll(() => {
  previousRoot = mkdtempSync(join(tmpdir(), 'berth-previous-'));
  execFileSync('tar', ['-xzf', SOURCES_FILE, '-C', previousRoot]);
  symlinkSync(join(ROOT, 'node_modules'), join(previousRoot, 'node_modules'));
  mkdirSync(join(previousRoot, 'libs/contracts/generated'), { recursive: true });
  execFileSync('npm', ['run', '--silent', 'proto'], { cwd: previousRoot });
});
afterAll(() => rmSync(previousRoot, { recursive: true, force: true }));

beforeEach(async () => {
  running = new Map();
  stateDir = mkdtempSync(join(tmpdir(), 'berth-upgrade-'));
  [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis({ appendOnly: true })]);
  for (const kind of KINDS) start(kind, previousRoot);
  await Promise.all([...running.values()].map((child) => child.says('"running"')));
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: redis.url });
  bus = await openBus({ busUrl: rabbitmq.url }, around);
  placement = await openPlacementStore(config, around);
  instances = await openInstanceStore(config, around);
  const known = async () =>
    (await callMethod({ bus, queue: RPC_SCHEDULER }, listHostsMethod, ALL_HOSTS, { timeoutMs: 10_000 })).hosts;
  while ((await known()).length < HOSTS) await sleep(clock, 50);
});

afterEach(async () => {
  for (const { process } of running.values()) process.kill('SIGKILL');
  await Promise.allSettled([bus?.close(), placement?.close(), instances?.close()]);
  await Promise.all([rabbitmq?.stop(), redis?.stop()]);
  rmSync(stateDir, { recursive: true, force: true });
});

function start(kind: Kind, root: string): Child {
  const env = {
    BERTH_BUS_URL: rabbitmq.url,
    BERTH_STORE_URL: redis.url,
    BERTH_LOG_FORMAT: 'json',
    ...(kind === 'compute-agent' && {
      BERTH_AGENT_HOST: 'rack',
      BERTH_AGENT_HOSTS: String(HOSTS),
      BERTH_AGENT_STATE_DIR: stateDir,
      BERTH_AGENT_INVENTORY: 'VCPU=2000,MEMORY_MB=1000000,DISK_GB=1000',
      BERTH_AGENT_REPORT_INTERVAL_MS: '1000',
      BERTH_AGENT_FAKE_LATENCY_MS: '50',
      BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    }),
  };
  const child = startChild('services/cli/main.ts', [kind], env, root);
  running.set(kind, child);
  return child;
}

/** The new process starts before the old one ends; an agent, of which each host has one, starts after. */
async function upgrade(kind: Kind): Promise<void> {
  const old = running.get(kind);
  const endOld = async () => {
    old?.process.kill('SIGTERM');
    await old?.exit;
  };
  if (kind === 'compute-agent') await endOld();
  await start(kind, ROOT).says('"running"');
  // Both are at work for a while.
  await sleep(clock, 2_000);
  if (kind !== 'compute-agent') await endOld();
}

/** Requests builds, and terminates every fifth, until the signal aborts; resolves to the requested instances. */
async function keepBuilding(signal: AbortSignal): Promise<string[]> {
  const uuids: string[] = [];
  while (!signal.aborted) {
    const uuid = randomUUID();
    uuids.push(uuid);
    const requestSpec = anEncodedSpec({ resources: { VCPU: 1, MEMORY_MB: 256 } });
    const request = { requestId: uuid, requestSpec, count: 1, name: 'web', instanceUuids: [uuid] };
    await castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: uuid });
    const instanceUuid = uuids.length % 5 === 0 ? uuids[uuids.length - 4] : undefined;
    if (instanceUuid)
      await castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' });
    await sleep(clock, REQUEST_EVERY_MS, signal);
  }
  return uuids;
}

/** The end of an instance that is neither ACTIVE nor DELETED, for the failure message. */
const problemOf = ({ uuid, state, fault, attempts }: Instance) =>
  AT_REST.has(state) ? [] : [{ uuid, state, fault, attempts }];

it.each<readonly Kind[][]>([
  [['scheduler', 'conductor', 'compute-agent']],
  [['compute-agent', 'conductor', 'scheduler']],
])('goes on with every build while %j are upgraded in turn', async (order) => {
  const ending = new AbortController();
  const building = keepBuilding(ending.signal);
  await sleep(clock, 2_000);
  for (const kind of order) await upgrade(kind);
  ending.abort();
  const uuids = await building;
  let found: Instance[] = [];
  do {
    await sleep(clock, 200);
    found = await instances.get(uuids);
  } while (found.length < uuids.length || found.some(({ state }) => !AT_REST.has(state) && state !== 'error'));
  expect(found.flatMap(problemOf)).toEqual([]);
  const active = found.filter(({ state }) => state === 'active').map(({ uuid }) => uuid);
  expect((await placement.consumers(uuids)).map(({ uuid }) => uuid).sort()).toEqual(active.sort());
  expect(await bus.depth(DEAD_LETTERS)).toBe(0);
});
