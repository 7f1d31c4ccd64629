import { randomUUID } from 'node:crypto';
import { seededRandom } from '#libs/domain/random';
import { fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type FakeHost, fakeDriver } from './fake';

const never = () => new AbortController().signal;
const host: FakeHost = {
  capacity: { inventories: {}, traits: [], nested: [], capabilities: {} },
  latencyMs: 0,
  latencySpread: 0,
  failureRate: 0,
  external: {},
  running: [],
};

function anInstance() {
  const resources = { VCPU: 1 };
  const who = { uuid: randomUUID(), name: 'x', projectId: 'p' };
  return { ...who, resources, requestSpec: aRequestSpec(), claimed: { '': resources }, mappings: {} };
}

async function outcomes(seed: number): Promise<string> {
  const driver = fakeDriver({ ...host, failureRate: 0.2 }, fakeClock(), seededRandom(seed));
  const all = Array.from({ length: 500 }, () =>
    driver.build(anInstance(), never()).then(
      () => '.',
      () => 'x',
    ),
  );
  return (await Promise.all(all)).join('');
}

it('keeps what is stopped, without running it', async () => {
  const driver = fakeDriver(host, fakeClock(), seededRandom(1));
  const instance = anInstance();
  await driver.build(instance, never());
  await driver.stop(instance.uuid);
  expect(await driver.list()).toEqual([]);
  await driver.start(instance.uuid);
  expect(await driver.list()).toEqual([{ id: instance.uuid, resources: instance.resources }]);
});

it('fails at its failure rate, and the same way for the same seed', async () => {
  const [first, same, other] = [await outcomes(1), await outcomes(1), await outcomes(2)];
  expect(same).toBe(first);
  expect(other).not.toBe(first);
  const failures = first.replaceAll('.', '').length;
  expect(failures).toBeGreaterThan(70);
  expect(failures).toBeLessThan(130);
});

it('takes half of the builds less than the median latency, and none for ever', async () => {
  const clock = fakeClock(0);
  const driver = fakeDriver({ ...host, latencyMs: 100, latencySpread: 1 }, clock, seededRandom(3));
  const tookMs: number[] = [];
  const all = Array.from({ length: 400 }, () =>
    driver.build(anInstance(), never()).then(() => tookMs.push(clock.now())),
  );
  await clock.advance(2_000);
  await Promise.all(all);
  const quick = tookMs.filter((ms) => ms < 100).length;
  expect(quick).toBeGreaterThan(160);
  expect(quick).toBeLessThan(240);
  expect(new Set(tookMs).size).toBeGreaterThan(100);
});

it('leaves nothing of a build that is cancelled', async () => {
  const clock = fakeClock();
  const driver = fakeDriver({ ...host, latencyMs: 1_000 }, clock, seededRandom(1));
  const cancelling = new AbortController();
  const building = driver.build(anInstance(), cancelling.signal);
  cancelling.abort();
  await expect(building).rejects.toMatchObject({ reason: 'cancelled' });
  expect(await driver.list()).toEqual([]);
  expect(clock.pending).toBe(0);
});
