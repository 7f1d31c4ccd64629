import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { diskOf } from '#libs/testing/servers/own-disk';
import { printFigure } from '../fleet/figures';
import { TestFleet } from '../fleet/test-fleet';

/* The disk of the store is full, in the middle of builds and terminations; then somebody makes room. */

const BUILDS = 20;
const DISK_MB = 16;

const clock = systemClock();
let fleet: TestFleet;
afterEach(() => fleet?.stop());

it.each([
  ['everysec', 'refuses to write'],
  ['always', 'ends, as often as it is started'],
])('loses nothing with appendfsync %s, with which Redis %s', async (appendfsync) => {
  const settings = { BERTH_AGENT_FAKE_FAILURE_RATE: '0', BERTH_STORE_TIMEOUT_MS: '1000' };
  fleet = await TestFleet.start(settings, {
    redis: { appendfsync, disk: { kind: 'small', sizeMb: DISK_MB } },
  });
  const first = await fleet.request(BUILDS);
  expect(await fleet.problems(first)).toEqual([]);
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);

  const filler = join(diskOf(fleet.redis), 'filler');
  writeUntilFull(filler);
  const meanwhile = Promise.all([fleet.request(BUILDS), fleet.terminate(first)]);
  await fleet.eventually('the store takes nothing', isFull);
  await sleep(clock, 5_000);
  rmSync(filler);
  const overAtMs = clock.elapsed();
  const [more] = await meanwhile;
  expect(await fleet.problems([...uuids, ...more])).toEqual([]);
  printFigure(`Redis' disk is full, appendfsync ${appendfsync}`, { right: clock.elapsed() - overAtMs });
});

async function isFull(): Promise<boolean> {
  const redis = new Redis(fleet.redis.url, { retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await redis.set('probe', '');
    return false;
  } catch {
    return true;
  } finally {
    redis.disconnect();
  }
}

/** Redis writes meanwhile, so that nobody knows how much there is room for. */
function writeUntilFull(file: string): void {
  for (;;) {
    try {
      appendFileSync(file, Buffer.alloc(4_096));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown;
      return;
    }
  }
}
