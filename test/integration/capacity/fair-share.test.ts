import { isDeepStrictEqual } from 'node:util';
import { Client } from '#libs/client/client';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { runLine } from '../../../services/cli/testing/run-line';
import { eventually, TestCell } from '../test-cell';

/* Two projects that want one full host: real processes, a real broker and a real store. */

const clock = systemClock();
let cell: TestCell;
let client: Client;
beforeAll(async () => {
  cell = await TestCell.start({ BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS: '12000' });
  await cell.launch('conductor', { BERTH_CONDUCTOR_PENDING_INTERVAL_MS: '100' });
  await cell.launch('conductor', { BERTH_CONDUCTOR_PENDING_INTERVAL_MS: '100' });
  await cell.launch('compute-agent', { BERTH_AGENT_HOST: 'fake-0', BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=8192' });
  client = new Client(cell.bus, { clock, random: systemRandom, timeoutMs: 10_000, retryForMs: 10_000 });
});
afterAll(() => cell.stop());

async function build(projectId: string, count: number): Promise<string[]> {
  const uuids: string[] = [];
  for (let n = 0; n < count; n++) {
    const spec = aRequestSpec({ projectId, resources: { VCPU: 1 } });
    const { instanceUuids } = await client.build({ spec, admission: { waitForCapacityMs: 120_000 } });
    uuids.push(...instanceUuids);
  }
  return uuids;
}

const inState = async (state: 'active' | 'pending', uuids: readonly string[]) => {
  const views = await Promise.all(uuids.map((uuid) => client.instance(uuid).catch(() => undefined)));
  return views.filter((view) => view?.state === state).length;
};
const latelyOf = async (projectId: string) => (await client.fairShares(projectId)).shares[0]?.lately ?? 0;

let heavy: string[];
let light: string[];

it('puts those of a project that used less before those that came earlier, and gives them what comes free', async () => {
  const running = await build('heavy', 4);
  await eventually('heavy fills the host', async () => (await inState('active', running)) === 4);
  await eventually('and did so lately', async () => (await latelyOf('heavy')) > 0.3);
  heavy = await build('heavy', 2);
  light = await build('light', 2);
  await eventually('four wait', async () => (await inState('pending', [...heavy, ...light])) === 4);
  await eventually('light stands first', async () => {
    const views = await Promise.all([...light, ...heavy].map((uuid) => client.instance(uuid)));
    // Conductors may put two requests of one project on record in either order.
    const places = views.map(({ waiting }) => (waiting?.standing ? waiting.place : 0));
    const placesFrom = (first: number) => new Set(places.slice(first, first + 2));
    return isDeepStrictEqual([placesFrom(0), placesFrom(2)], [new Set([1, 2]), new Set([3, 4])]);
  });
  const { out } = await runLine(`instance show ${heavy[0]}`, cell.commandEnv);
  expect(out).toMatch(/stands by\s+\d\.\d{3} = .*now 1\.000 \+ lately (?:0\.\d{3}|1\.000).* weight 1, half-life 12s/);
  for (const uuid of running.slice(0, 2)) await client.terminate(uuid);
  await eventually('light has both places', async () => (await inState('active', light)) === 2);
  expect(await inState('pending', heavy)).toBe(2);
  for (const uuid of running.slice(2)) await client.terminate(uuid);
  await eventually('then heavy has its turn', async () => (await inState('active', heavy)) === 2);
});

it('shows shares that even out in some half-lives, and weights', async () => {
  await eventually('heavy and light used nearly as much lately', async () => {
    return Math.abs((await latelyOf('heavy')) - (await latelyOf('light'))) < 0.1;
  });
  await runLine('quota set --project heavy --limit weight=4', cell.commandEnv);
  await eventually('schedulers have heard of a weight', async () => {
    const { out } = await runLine('quota shares', cell.commandEnv);
    return /1\s+heavy\s+0\.\d{3}\s+0\.500 VCPU\s+0\.\d{3} VCPU\s+4/.test(out);
  });
  const explained = await runLine('explain --vcpu 64 --memory-mb 1 --project heavy', cell.commandEnv);
  expect(explained.out).toContain('fair share of project heavy');
  for (const uuid of [...heavy, ...light]) await client.terminate(uuid);
  await eventually('nothing was used lately', async () => (await latelyOf('light')) < 0.2, 90_000);
});
