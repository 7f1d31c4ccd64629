import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { diskOf, losePower } from '#libs/testing/servers/own-disk';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { printFigure } from '../fleet/figures';
import { TestFleet } from '../fleet/test-fleet';
import { ClaimLoad } from './claim-load';

/* The machine of the store loses power: what Redis wrote to its file and did not sync is gone. BERTH_TEST_POWER_LOSS=off leaves it out. */

const DISK = { kind: 'journaled', sizeMb: 256 } as const;
/** Longer than Redis lets its file go without a sync: it starts one each second, and waits for one that lasts. */
const UNSYNCED_MS = 4_000;

const clock = systemClock();
let toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.toReversed()) await close();
  toClose = [];
});

/** Also checks that something unsynced is gone. */
async function losesPower(redis: TestServer): Promise<void> {
  const name = `unsynced-${systemRandom.uuid()}`;
  writeFileSync(join(diskOf(redis), name), 'unsynced');
  await losePower(redis);
  await redis.restart();
  expect(readOrEmpty(join(diskOf(redis), name))).toBe('');
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function claimsOn(redis: TestServer): Promise<ClaimLoad> {
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: redis.url, BERTH_STORE_TIMEOUT_MS: '2000' });
  const store = await openPlacementStore(config, around);
  toClose.push(() => store.close());
  return ClaimLoad.start(store);
}

it('loses no claim that was answered, with appendfsync always', async () => {
  const redis = await startRedis({ appendOnly: true, appendfsync: 'always', disk: DISK });
  toClose.push(() => redis.stop());
  const claims = await claimsOn(redis);
  for (let times = 0; times < 3; times++) {
    await claims.answers(500);
    await losesPower(redis);
  }
  await claims.answers(100);
  expect(await claims.stop()).toEqual([]);
  expect(claims.timesAway).toBeGreaterThan(0);
});

it('loses what was answered in its last seconds, and nothing before, with everysec', async () => {
  const redis = await startRedis({ appendOnly: true, appendfsync: 'everysec', disk: DISK });
  toClose.push(() => redis.stop());
  const claims = await claimsOn(redis);
  const startedAtMs = clock.elapsed();
  while (clock.elapsed() < startedAtMs + UNSYNCED_MS) await claims.answers(100);
  const [early, earlyAtMs] = [new Set(claims.answered.keys()), clock.elapsed()];
  while (clock.elapsed() < earlyAtMs + UNSYNCED_MS) await claims.answers(100);
  const [answered, lostAtMs] = [[...claims.answered.keys()], clock.elapsed()];
  await losesPower(redis);
  await claims.answers(100);
  const lost = await claims.stop();
  expect(lost.filter((uuid) => early.has(uuid))).toEqual([]);
  // They came at an even pace.
  const lostMs = ((lostAtMs - earlyAtMs) * lost.length) / (answered.length - early.size);
  printFigure(`Redis' machine loses power, everysec: ${lost.length} of ${answered.length} claims`, { lost: lostMs });
});

it('loses no build when it happens in the middle of 300, with appendfsync always', async () => {
  const fleet = await TestFleet.start(
    { BERTH_STORE_TIMEOUT_MS: '2000' },
    { redis: { appendfsync: 'always', disk: DISK } },
  );
  toClose.push(() => fleet.stop());
  const uuids = await fleet.request(300);
  await fleet.atRest(uuids, 75);
  const lostAtMs = clock.elapsed();
  await losesPower(fleet.redis);
  expect(await fleet.problems(uuids)).toEqual([]);
  printFigure("Redis' machine loses power, appendfsync always", { right: clock.elapsed() - lostAtMs });
});
