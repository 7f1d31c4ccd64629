import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectClient } from '#libs/client/connect';
import { systemClock } from '#libs/runtime/system';
import { printFigure } from '../fleet/figures';
import { SCHEDULERS, TestFleet } from '../fleet/test-fleet';

/* The store is put back to what it was some time ago: an operator restores a copy, or a machine loses what it did not sync. */

const BUILDS = 20;

const clock = systemClock();
let fleet: TestFleet;
let copy: string;
beforeEach(async () => {
  copy = mkdtempSync(join(tmpdir(), 'berth-snapshot-'));
  const settings = {
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_FAKE_COPY_MS: '400',
    BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '2000',
  };
  fleet = await TestFleet.start(settings, { redis: { appendfsync: 'always' } });
});
afterEach(async () => {
  await fleet.stop();
  rmSync(copy, { recursive: true });
});

const data = () => join(fleet.redis.folder, 'appendonlydir');
const takeSnapshot = () => cpSync(data(), copy, { recursive: true });
async function restoreSnapshot(): Promise<void> {
  await fleet.redis.kill('SIGKILL');
  rmSync(data(), { recursive: true });
  cpSync(copy, data(), { recursive: true });
  await fleet.redis.restart();
}

it('knows again what runs, and says that what ended since was lost', async () => {
  const before = await fleet.request(BUILDS);
  expect(await fleet.problems(before)).toEqual([]);
  takeSnapshot();
  const ended = before.slice(0, BUILDS / 4);
  const since = await fleet.request(BUILDS);
  await fleet.terminate(ended);
  expect(await fleet.problems([...before, ...since])).toEqual([]);
  const runs = fleet.runs();

  await restoreSnapshot();
  const restoredAtMs = clock.elapsed();
  fleet.forget(ended);
  await fleet.eventually('what ended is no longer believed to run', async () => {
    const states = (await fleet.instances.get(ended)).map(({ state, fault }) => `${state} ${fault?.reason}`);
    return states.every((state) => state === 'error instance_lost') || states;
  });
  expect(await fleet.problems([...before, ...since])).toEqual([]);
  printFigure('Redis is restored from an older snapshot', { right: clock.elapsed() - restoredAtMs });
  expect(fleet.runs()).toEqual(runs);
});

it('builds nothing twice that was built since, and was still being scheduled then', async () => {
  for (const name of SCHEDULERS) fleet.signal(name, 'SIGSTOP');
  const uuids = await fleet.request(BUILDS);
  await fleet.eventually('they are on record', async () => (await fleet.instances.get(uuids)).length === BUILDS);
  takeSnapshot();
  for (const name of SCHEDULERS) fleet.signal(name, 'SIGCONT');
  expect(await fleet.problems(uuids)).toEqual([]);
  const runs = fleet.runs();

  await restoreSnapshot();
  await fleet.atRest(uuids);
  expect(await fleet.problems(uuids)).toEqual([]);
  expect(fleet.runs()).toEqual(runs);
});

/** Ways in which the store loses what is written from now on; each resolves to how that is brought about. */
const losses: Readonly<Record<string, () => () => Promise<void>>> = {
  'of which an older copy is put back'() {
    takeSnapshot();
    return restoreSnapshot;
  },
  'that loses the end of its append-only file'() {
    const files = readdirSync(data()).map((name) => join(data(), name));
    const synced = files.map((file) => [file, statSync(file).size] as const);
    return async () => {
      await fleet.redis.kill('SIGKILL');
      for (const [file, bytes] of synced) truncateSync(file, bytes);
      await fleet.redis.restart();
    };
  },
};

it.each(Object.keys(losses))(
  'has all that runs go on where it is, amid builds and migrations, in a store %s',
  async (loss) => {
    const before = await fleet.request(BUILDS);
    expect(await fleet.problems(before)).toEqual([]);
    const operator = await connectClient({ url: fleet.credentials.brokerUrl('operator', fleet.brokerPort) });

    const lose = losses[loss]?.();
    const moving = before.slice(0, BUILDS / 2);
    await Promise.all(moving.map((uuid) => operator.operate(uuid, 'live_migrate')));
    const since = await fleet.request(BUILDS);
    await fleet.atRest(since, BUILDS / 2);
    await fleet.atRest(moving, 1);
    const healthy = (await fleet.instances.get([...before, ...since])).filter(({ state }) => state === 'active');
    expect(healthy.length).toBeGreaterThan(BUILDS);
    await lose?.();

    expect(await fleet.problems(healthy.map(({ uuid }) => uuid))).toEqual([]);
    const runs = fleet.runs();
    expect(runs).toEqual(expect.arrayContaining(healthy.map(({ uuid, host }) => `${uuid} ${host}`)));
    expect(new Set(runs.map((one) => one.split(' ')[0])).size).toBe(runs.length);
    await operator.close();
  },
);
