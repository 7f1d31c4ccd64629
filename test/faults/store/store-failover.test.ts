import { setTimeout as pass } from 'node:timers/promises';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aProvider, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { type SentinelGroup, startSentinelGroup } from '../../redis-groups';
import { printFigure } from '../fleet/figures';
import { TestFleet } from '../fleet/test-fleet';

/* A Redis with two replicas and three Sentinels: its primary is killed in the middle of work, and one of the replicas follows. */

jest.setTimeout(180_000);

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

/** Kills the primary; resolves when the Sentinels call another server so. */
async function killPrimary(): Promise<void> {
  const primary = await group.primary();
  await primary.kill('SIGKILL');
  while ((await group.primary()) === primary) await pass(50);
}

it('loses no claim that was answered before its primary was killed', async () => {
  const store = await open();
  const host = await aProvider(store, { VCPU: inventory(100_000) });
  const answered = new Map<string, number>();
  const stopping = new AbortController();
  let timesAway = 0;
  const work = async () => {
    while (!stopping.signal.aborted) {
      const write = aWrite({ [host]: { VCPU: 1 } });
      try {
        const result = await claim(store, write);
        if (result.kind !== 'committed') throw new Error(`refused: ${JSON.stringify(result)}`);
        answered.set(write.uuid, result.claimToken);
      } catch (thrown) {
        if (BerthError.from(thrown).code !== 'unavailable') throw thrown;
        timesAway++;
        await pass(20);
      }
    }
  };
  const workers = Promise.all(Array.from({ length: 8 }, work));
  while (answered.size < 500) await pass(5);
  // What is written from here on is lost, and must not be answered.
  await group.cutReplicasOff();
  await pass(500);
  await killPrimary();
  const atFailover = answered.size;
  while (answered.size < atFailover + 200) await pass(5);
  stopping.abort();
  await workers;
  expect(timesAway).toBeGreaterThan(0);
  const contents = await contentsOf(store);
  expect(violationsOf(contents)).toEqual([]);
  const tokens = new Map(contents.consumers.map(({ uuid, claimToken }) => [uuid, claimToken]));
  expect([...answered].filter(([uuid, token]) => tokens.get(uuid) !== token)).toEqual([]);
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
