import { Redis } from 'ioredis';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { systemClock } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { freePort } from '#libs/testing/servers/server-process';
import { printFigure } from '../fleet/figures';
import { TestFleet } from '../fleet/test-fleet';

/* Redis is at its maxmemory in the middle of builds and terminations, for longer than any of their times; then it has more. */

const BUILDS = 20;
const HOSTS = 10;
const FULL_MS = 15_000;

const clock = systemClock();
let fleet: TestFleet;
let redis: Redis;
let operator: Client;
afterEach(async () => {
  redis?.disconnect();
  await operator?.close();
  await fleet?.stop();
});

it('loses nothing, refuses with store_full, keeps hosts up, and goes on when it has more', async () => {
  const metricsPort = await freePort();
  const httpPorts = new Map([['conductor-1', metricsPort]]);
  fleet = await TestFleet.start({ BERTH_AGENT_FAKE_FAILURE_RATE: '0' }, { httpPorts });
  redis = new Redis(fleet.redis.url);
  const url = fleet.credentials.brokerUrl('operator', fleet.brokerPort);
  operator = await connect({ url, retryForMs: 0 });
  const first = await fleet.request(BUILDS);
  expect(await fleet.problems(first)).toEqual([]);
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);

  await redis.config('SET', 'maxmemory', '1mb');
  const fullAtMs = clock.elapsed();
  const [more] = await Promise.all([fleet.request(BUILDS), fleet.terminate(first)]);
  // An operator is refused, and may still look.
  const refused = BerthError.from(await operator.setHostEnabled('agent-a-1', false).catch((thrown: Error) => thrown));
  expect(refused).toMatchObject({ code: 'unavailable', reason: 'store_full' });
  expect((await operator.explain(aRequestSpec())).diagnosis.hostsConsidered).toBe(HOSTS);
  // BerthStoreMemory asks these two.
  await fleet.eventually('metrics tell', async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const gauge = (name: string) => Number(new RegExp(`^berth_store_${name}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1]);
    return gauge('memory_limit_bytes') === 1_048_576 && gauge('memory_bytes') > 0.85 * 1_048_576;
  });
  await sleep(clock, FULL_MS - (clock.elapsed() - fullAtMs));
  expect((await fleet.rows()).hosts.filter(({ up }) => up)).toHaveLength(HOSTS);

  await redis.config('SET', 'maxmemory', '0');
  const overAtMs = clock.elapsed();
  expect(await fleet.problems([...uuids, ...more])).toEqual([]);
  printFigure('Redis is at its maxmemory', { right: clock.elapsed() - overAtMs });
  const built = await fleet.instances.get([...uuids, ...more]);
  expect(built.filter(({ state }) => state !== 'active')).toEqual([]);
  expect((await operator.setHostEnabled('agent-a-1', false)).host).toBe('agent-a-1');
});
