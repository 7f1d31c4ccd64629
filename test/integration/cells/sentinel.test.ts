import { sleep } from '#libs/domain/clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type SentinelGroup, startSentinelGroup } from '../../redis-groups';
import { CellsWorld, clock, type OpenedCell } from './cells-world';

/* Two cells and a top; one cell has a Redis of its own, with two replicas behind Sentinels, whose primary is killed in the middle of builds. */

let group: SentinelGroup;
let world: CellsWorld;
let top: OpenedCell;

beforeAll(async () => {
  group = await startSentinelGroup();
  world = await CellsWorld.start(['cell1', 'b', 'top'], ['h1'], undefined, { b: group });
  top = await world.open('top');
  const settings = { BERTH_TOP_CELLS: 'cell1,b', BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '200' };
  const ofB = { BERTH_STORE_REPLICAS: '1', BERTH_STORE_TIMEOUT_MS: '2000' };
  await Promise.all([
    world.launch('cell1', 'scheduler'),
    world.launch('cell1', 'conductor'),
    world.launch('b', 'scheduler', ofB),
    // A build lasts as long as its store's outage.
    world.launch('b', 'conductor', {
      ...ofB,
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '60000',
      // For so long after the loss nothing of before is begun again.
      BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '10000',
    }),
  ]);
  const slow = { BERTH_AGENT_FAKE_LATENCY_MS: '1500', BERTH_AGENT_INVENTORY: 'VCPU=64,MEMORY_MB=65536' };
  await Promise.all(['cell1', 'b'].map((cell) => world.launch(cell, 'agent.h1', slow)));
  await Promise.all(['top-scheduler', 'top-conductor'].map((name) => world.launch('top', name, settings)));
  while ((await top.client.cells()).some(({ summary }) => summary?.availableCount !== 1)) await sleep(clock, 50);
});
afterAll(() => world?.stop());

const SPEC = aRequestSpec({ resources: { VCPU: 1, MEMORY_MB: 64 } });
const build = (count: number) =>
  Promise.all(Array.from({ length: count }, () => top.client.buildAndWait({ spec: SPEC }, { timeoutMs: 90_000 })));

it('a cell whose primary is gone ends its builds on the next one, and others build meanwhile', async () => {
  const b = await world.open('b');
  const building = build(16);
  while (!b.heard.some(({ state }) => state === 'building')) await sleep(clock, 20);
  const primary = await group.primary();
  await primary.kill('SIGKILL');
  await top.client.setCellState('b', 'disabled', 'its store is away');
  const [other] = (await build(1)).flat();
  expect((await top.client.instance(other?.instanceUuid ?? '')).cell).toBe('cell1');
  await top.client.setCellState('b', 'enabled');
  const events = (await building).flat();
  expect(events.map(({ state, fault }) => `${state} ${fault?.message ?? ''}`.trim())).toEqual(Array(16).fill('active'));
  expect(await group.primary()).not.toBe(primary);
  const rows = (await top.client.instances()).filter(({ uuid }) => uuid !== other?.instanceUuid);
  const cells = rows.map(({ cell }) => cell);
  expect(new Set(cells)).toEqual(new Set(['cell1', 'b']));
  const there = await b.client.instances();
  expect(there.map(({ state }) => state)).toEqual(there.map(() => 'active'));
  expect(there).toHaveLength(cells.filter((cell) => cell === 'b').length);
});
