import { autoscale } from '#libs/client/autoscaler';
import { Client } from '#libs/client/client';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { TestCell } from '../test-cell';

/* The autoscaler of the client library on the fake fleet: real processes, a real broker and a real store. */

const clock = systemClock();
let cell: TestCell;
beforeAll(async () => {
  cell = await TestCell.start();
});
afterAll(() => cell.stop());

it('adds hosts of the shape that is wanted until nothing waits, and no more', async () => {
  const launchHost = (host: string) =>
    cell.launch('compute-agent', { BERTH_AGENT_HOST: host, BERTH_AGENT_INVENTORY: 'VCPU=2,MEMORY_MB=4096' });
  await cell.launch('conductor', { BERTH_CONDUCTOR_WANTED_INTERVAL_MS: '100' });
  await launchHost('fake-0');
  const client = new Client(cell.bus, { clock, random: systemRandom, timeoutMs: 10_000, retryForMs: 10_000 });
  const stop = new AbortController();
  const added: string[] = [];
  const scaling = autoscale(
    client,
    async (count, { like }) => {
      expect(like).toMatch(/^fake-/);
      const names = Array.from({ length: count }, (_, n) => `fake-${added.length + n + 1}`);
      added.push(...names);
      await Promise.all(names.map(launchHost));
    },
    { atOnce: 2, inAll: 5 },
    stop.signal,
  );
  const heard = new Promise<void>((resolve) => {
    void client.onCapacityWanted(({ waiting }) => waiting === 0 && resolve());
  });
  const spec = aRequestSpec({ resources: { VCPU: 2 } });
  // One fits; four wait, until as many hosts are there.
  const admission = { waitForCapacityMs: 60_000 };
  const events = await client.buildAndWait({ spec, count: 5, admission }, { timeoutMs: 60_000 });
  expect(events.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'active'));
  await heard;
  stop.abort();
  await scaling;
  expect(added.length).toBeGreaterThanOrEqual(4);
  expect(added.length).toBeLessThanOrEqual(5);
});
