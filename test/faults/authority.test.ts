import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '#libs/runtime/system';
import { printFigure } from './fleet/figures';
import { TestFleet } from './fleet/test-fleet';

/* Whatever is believed of an instance for a while: what runs and was not terminated goes on running. */

const BUILDS = 40;
/** Three reports, each every two seconds. */
const LEASE_MS = 6_000;

let fleet: TestFleet;
let uuids: readonly string[];
let twinDir: string;
beforeAll(async () => {
  twinDir = mkdtempSync(join(tmpdir(), 'berth-twin-'));
  fleet = await TestFleet.start({ BERTH_AGENT_FAKE_FAILURE_RATE: '0', BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '2000' });
  uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids);
});
afterAll(async () => {
  await fleet?.stop();
  rmSync(twinDir, { recursive: true });
});

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const launchTwin = () => fleet.launch('agent-twin', { BERTH_AGENT_HOST: 'agent-a', BERTH_AGENT_STATE_DIR: twinDir });

it('keeps what runs while a second agent has the name of a first, and says so', async () => {
  const before = fleet.runs();
  launchTwin();
  await fleet.hasLogged('agent-twin', 'host_taken');
  // Long enough for reports of two agents to have contradicted each other several times.
  await pass(3 * LEASE_MS);
  expect(fleet.runs()).toEqual(before);
  expect(await fleet.problems(uuids)).toEqual([]);
  await fleet.kill('agent-twin');
});

it('gives everything back to a store that was wiped: what runs is claimed, recorded and ACTIVE, and nothing is destroyed', async () => {
  const before = fleet.runs();
  const redis = new Redis(fleet.redis.url);
  await redis.flushall();
  const wipedAtMs = systemClock().elapsed();
  await redis.quit();
  await fleet.eventually('every instance is ACTIVE again', async () => {
    const active = (await fleet.instances.get(uuids)).filter(({ state }) => state === 'active');
    return active.length === BUILDS;
  });
  expect(await fleet.problems(uuids)).toEqual([]);
  printFigure('Redis is wiped', { right: systemClock().elapsed() - wipedAtMs });
  expect(fleet.runs()).toEqual(before);
});

it('claims again what a client of the placement API deleted', async () => {
  const before = fleet.runs();
  const claims = await fleet.claims();
  for (const consumer of await fleet.placement.consumers(uuids)) {
    const { uuid: consumerUuid, claimToken } = consumer;
    await fleet.placement.commit({ kind: 'release_claim', atMs: systemClock().now(), consumerUuid, claimToken });
  }
  await fleet.eventually('claims are as before', async () => (await fleet.claims()).join() === claims.join());
  expect(await fleet.problems(uuids)).toEqual([]);
  expect(fleet.runs()).toEqual(before);
});

it('loses nothing when conductors hear of reports much later than they were made', async () => {
  const more = await fleet.request(BUILDS);
  for (const name of ['conductor-1', 'conductor-2']) fleet.signal(name, 'SIGSTOP');
  await pass(2 * LEASE_MS);
  for (const name of ['conductor-1', 'conductor-2']) fleet.signal(name, 'SIGCONT');
  const all = [...uuids, ...more];
  expect(await fleet.problems(all)).toEqual([]);
  const lost = (await fleet.instances.get(all)).filter(({ fault }) => fault?.reason === 'instance_lost');
  expect(lost).toEqual([]);
});

/* The last: its fleet is not what it was. */
it('lets the second take over from a first that was stopped, and the first finds that it is superseded', async () => {
  const before = fleet.runs();
  fleet.signal('agent-a', 'SIGSTOP');
  launchTwin();
  await pass(2 * LEASE_MS);
  fleet.signal('agent-a', 'SIGCONT');
  await fleet.hasLogged('agent-a', 'epoch_superseded');
  await pass(LEASE_MS);
  // The journals of the first: what it ran is running, whatever the store believes of it now.
  expect(fleet.runs()).toEqual(before);
});
