import { setTimeout as pass } from 'node:timers/promises';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type SentinelGroup, startSentinelGroup } from '../../redis-groups';
import { printFigure } from '../fleet/figures';
import { TestFleet } from '../fleet/test-fleet';
import { ClaimLoad } from './claim-load';

/* A Redis with two replicas and three Sentinels: its primary is killed under load, and a replica takes over. */

const BUILDS = 20;

let group: SentinelGroup;
let toClose: (() => Promise<void>) | undefined;
beforeEach(async () => {
  group = await startSentinelGroup();
});
afterEach(async () => {
  await toClose?.();
  await group.stop();
});

const settings = () => ({
  BERTH_STORE_URL: group.url,
  BERTH_STORE_REPLICAS: '1',
  BERTH_STORE_TIMEOUT_MS: '2000',
});

async function open(): Promise<PlacementStore> {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const store = await openPlacementStore(readConfig(placementOptions, settings()), around);
  toClose = () => store.close();
  return store;
}

/** Kills the primary; resolves when the Sentinels have promoted another server. */
async function killPrimary(): Promise<void> {
  const primary = await group.primary();
  await primary.kill('SIGKILL');
  while ((await group.primary()) === primary) await pass(50);
}

it('loses no claim that was answered before its primary was killed', async () => {
  const store = await open();
  const claims = await ClaimLoad.start(store);
  await claims.answers(500);
  // Writes from here on are lost, and must not be answered.
  await group.cutReplicasOff();
  await pass(500);
  await killPrimary();
  await claims.answers(200);
  expect(await claims.stop()).toEqual([]);
  expect(claims.timesAway).toBeGreaterThan(0);
});

it('loses no build when its primary is killed in the middle of 300', async () => {
  const fleet = await TestFleet.start(settings());
  toClose = () => fleet.stop();
  const uuids = await fleet.request(300);
  await fleet.atRest(uuids, 75);
  const killedAtMs = systemClock().elapsed();
  await killPrimary();
  expect(await fleet.problems(uuids)).toEqual([]);
  printFigure("Redis' primary is killed, with Sentinels and BERTH_STORE_REPLICAS=1", {
    right: systemClock().elapsed() - killedAtMs,
  });
});

it('has all that runs go on when its primary is killed and no replica has what was written last', async () => {
  const own = { BERTH_STORE_REPLICAS: '0', BERTH_AGENT_FAKE_FAILURE_RATE: '0' };
  const fleet = await TestFleet.start({ ...settings(), ...own });
  toClose = () => fleet.stop();
  const before = await fleet.request(BUILDS);
  expect(await fleet.problems(before)).toEqual([]);
  await group.cutReplicasOff();
  const since = await fleet.request(BUILDS);
  await fleet.atRest(since, BUILDS / 2);
  const all = await fleet.instances.get([...before, ...since]);
  const healthy = all.filter(({ state }) => state === 'active');
  await killPrimary();
  const lostAtMs = systemClock().elapsed();
  expect(await fleet.problems(healthy.map(({ uuid }) => uuid))).toEqual([]);
  printFigure("Redis' primary is killed, with Sentinels and replicas that did not follow", {
    right: systemClock().elapsed() - lostAtMs,
  });
  const records = await fleet.instances.get(since);
  expect(records.some(({ attempts }) => attempts[0]?.reason === 'adopted')).toBe(true);
  const runs = fleet.runs();
  expect(runs).toEqual(expect.arrayContaining(healthy.map(({ uuid, host }) => `${uuid} ${host}`)));
  expect(new Set(runs.map((one) => one.split(' ')[0])).size).toBe(runs.length);
});
