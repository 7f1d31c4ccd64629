import { drainCell } from '#libs/client/drain/drain-cell';
import { sleep } from '#libs/domain/clock';
import type { RequestSpec } from '#libs/domain/request-spec';
import { systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { CellsWorld, clock, type OpenedCell } from './cells-world';

/*
 * Two cells and a top, of real processes on a RabbitMQ and a Redis: requests through the top, what it does without a cell, and
 * what cells do without it.
 */

const B = 'b';
/**
 * Agents take orders as long as they certainly hold their hosts, which schedulers renew: longer than this test's outage
 * of schedulers.
 */
const LONG_LEASE = { BERTH_AGENT_LEASE_REPORTS: '60' };
const TOP = { BERTH_TOP_CELLS: 'cell1,b', BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '200' };
const CONDUCTOR = {
  ...TOP,
  BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '500',
  BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS: '2000',
  BERTH_TOP_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '4000',
};

let world: CellsWorld;
let top: OpenedCell;
let first: OpenedCell;
let second: OpenedCell;

beforeAll(async () => {
  world = await CellsWorld.start(['cell1', B, 'top'], ['h1', 'h2', 'h3']);
  [top, first, second] = await Promise.all([world.open('top'), world.open('cell1'), world.open(B)]);
  await Promise.all(['cell1', B].flatMap((cell) => [world.launch(cell, 'scheduler'), world.launch(cell, 'conductor')]));
  await Promise.all([world.launch('top', 'top-scheduler', TOP), world.launch('top', 'top-conductor', CONDUCTOR)]);
  // Cell1 has little capacity, b has more.
  await Promise.all([
    world.launch('cell1', 'agent.h1', { BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=16384' }),
    world.launch(B, 'agent.h1', { BERTH_AGENT_INVENTORY: 'VCPU=5,MEMORY_MB=16384' }),
    world.launch(B, 'agent.h2', { ...LONG_LEASE, BERTH_AGENT_INVENTORY: 'VCPU=16,MEMORY_MB=65536' }),
  ]);
  await eventually('the top knows all hosts', async () => {
    const cells = await top.client.cells();
    return cells.map(({ summary }) => summary?.availableCount).join() === '1,2';
  });
});
afterAll(() => world?.stop());

async function eventually(what: string, isSo: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  for (const untilMs = clock.elapsed() + timeoutMs; !(await isSo().catch(() => false)); await sleep(clock, 50)) {
    if (clock.elapsed() > untilMs) throw new Error(`never became true: ${what}\n${world.said().slice(-6_000)}`);
  }
}

const wanted = (vcpu: number, fields: Partial<RequestSpec> = {}) => {
  return { spec: aRequestSpec({ resources: { VCPU: vcpu }, ...fields }) };
};
/** Summaries are up to a second old and may still include ended instances. */
const allIsFree = () =>
  eventually('the top knows that nothing is in the cells', async () => {
    return (await top.client.cells()).every(({ summary }) => summary?.instanceCount === 0);
  });
const there = ({ client }: OpenedCell, uuid: string) => client.instance(uuid).catch(() => undefined);

it('a request to the top is built in a cell with room, listed and ended through the top', async () => {
  const [event] = await top.client.buildAndWait(wanted(6), { timeoutMs: 30_000 });
  const uuid = event?.instanceUuid ?? '';
  expect(event).toMatchObject({ state: 'active', host: 'h2' });
  expect(await top.client.instance(uuid)).toMatchObject({ state: 'active', host: 'h2', cell: B });
  expect(await there(second, uuid)).toMatchObject({ state: 'active' });
  expect(await there(first, uuid)).toBeUndefined();
  await top.client.terminateAndWait(uuid, { timeoutMs: 20_000 });
  expect(await there(second, uuid)).toMatchObject({ state: 'deleted' });
});

it('a request that no cell takes says of each cell why', async () => {
  const [event] = await top.client.buildAndWait(wanted(100), { timeoutMs: 20_000 });
  expect(event?.state).toBe('error');
  expect(event?.fault?.message).toMatch(/2 cells considered, 0 passed; .*cell1: no host there has enough free/);
  const explained = await top.client.explain(wanted(1, { availabilityZone: 'mars' }).spec);
  expect(explained.diagnosis.filters).toEqual([{ filter: 'cell_zone', refused: 2, reasons: { zone: 2 } }]);
});

it('flavors of the fleet and quotas of its projects are those of the top', async () => {
  const resources = { VCPU: 2, MEMORY_MB: 512 };
  await top.client.createFlavor({ name: 'm1.small', description: '', resources, extraSpecs: {} });
  await top.client.setQuota('project-1', { limits: { VCPU: 5 } });
  const small = { spec: aRequestSpec({ flavor: { name: 'm1.small', version: 0 }, resources: {} }) };
  const events = await top.client.buildAndWait({ ...small, count: 2 }, { timeoutMs: 30_000 });
  expect(events.map(({ state }) => state)).toEqual(['active', 'active']);
  expect(await first.client.flavors()).toEqual([]);
  const [event] = await top.client.buildAndWait(small, { timeoutMs: 20_000 });
  expect(event?.fault).toMatchObject({
    reason: 'quota_exceeded',
    message: 'VCPU: 4 used, 2 asked, limit 5',
  });
  const [quota] = await top.client.quotas('project-1');
  expect(quota).toMatchObject({ limits: { VCPU: 5 }, used: { VCPU: 4, MEMORY_MB: 1_024, instances: 2 } });
  await Promise.all(events.map(({ instanceUuid }) => top.client.terminateAndWait(instanceUuid, { timeoutMs: 20_000 })));
  await eventually('nothing is used', async () => (await top.client.quotas('project-1'))[0]?.used.VCPU === undefined);
  await top.client.setQuota('project-1', { limits: { VCPU: -1 } });
});

it('a server group of the fleet is kept in all cells: anti-affinity over their hosts, affinity in one of them', async () => {
  const project = { projectId: 'project-1', metadata: {}, maxPerHost: 1 };
  await top.client.groups.create({ ...project, name: 'apart', policy: 'anti-affinity' });
  await top.client.groups.create({ ...project, name: 'together', policy: 'affinity' });
  const of = (id: string) => wanted(1, { group: { id, policy: undefined, maxPerHost: 0 } });
  // No single cell has three hosts; both together do.
  const apart = await top.client.buildAndWait({ ...of('apart'), count: 3 }, { timeoutMs: 30_000 });
  expect(apart.map(({ state }) => state)).toEqual(['active', 'active', 'active']);
  const rows = await Promise.all(apart.map(({ instanceUuid }) => top.client.instance(instanceUuid)));
  expect(rows.map(({ cell, host }) => `${cell} ${host}`).sort()).toEqual(['b h1', 'b h2', 'cell1 h1']);
  const [fourth] = await top.client.buildAndWait(of('apart'), { timeoutMs: 20_000 });
  expect(fourth).toMatchObject({ state: 'error', fault: { reason: 'no_valid_host' } });
  const together = [];
  for (let n = 0; n < 3; n++) together.push(...(await top.client.buildAndWait(of('together'), { timeoutMs: 30_000 })));
  const places = await Promise.all(together.map(({ instanceUuid }) => top.client.instance(instanceUuid)));
  const [place] = places;
  const { cell, host } = place ?? {};
  expect(places.map((one) => [one.state, one.cell, one.host, one.fault?.message])).toEqual(
    places.map(() => ['active', cell, host, undefined]),
  );
  expect(await first.client.groups.list('project-1')).toEqual([]);
  for (const { instanceUuid } of [...apart, ...together])
    await top.client.terminateAndWait(instanceUuid, { timeoutMs: 20_000 });
});

it('of a gang that all cells together can not take nothing stays claimed', async () => {
  await allIsFree();
  const events = await top.client.buildAndWait({ ...wanted(4), count: 7, minCount: 7 }, { timeoutMs: 30_000 });
  expect(new Set(events.map(({ state }) => state))).toEqual(new Set(['error']));
  for (const { placement } of [first, second]) {
    const held: string[] = [];
    await placement.scanConsumers(async (consumers) => {
      held.push(...consumers.map(({ uuid }) => uuid));
    });
    expect(held).toEqual([]);
  }
  // Summaries, and the mirrors of the cells' schedulers, may lag behind a release for a moment.
  let built: readonly { readonly instanceUuid: string; readonly state: string }[] = [];
  await eventually('six find their hosts', async () => {
    built = await top.client.buildAndWait({ ...wanted(4), count: 6, minCount: 6 }, { timeoutMs: 30_000 });
    return built.every(({ state }) => state === 'active');
  });
  for (const { instanceUuid } of built) await top.client.terminateAndWait(instanceUuid, { timeoutMs: 20_000 });
});

it('an instance is moved to another cell, and a cell is drained by such moves', async () => {
  await allIsFree();
  await top.client.setCellState('cell1', 'disabled', 'all of this is built in b');
  const built = [];
  for (const vcpu of [2, 1, 6]) built.push(...(await top.client.buildAndWait(wanted(vcpu), { timeoutMs: 30_000 })));
  const [moved = '', small = '', large = ''] = built.map(({ instanceUuid }) => instanceUuid);
  await top.client.setCellState('cell1', 'enabled');
  await eventually('cell1 is open', async () => (await top.client.cells('cell1'))[0]?.state === 'enabled');
  await top.client.operateAndWait(moved, 'migrate', { targetCell: 'cell1', timeoutMs: 30_000 });
  expect(await top.client.instance(moved)).toMatchObject({ state: 'active', cell: 'cell1', host: 'h1' });
  expect(await there(first, moved)).toMatchObject({ state: 'active' });
  await eventually('nothing of it is in b', async () => (await there(second, moved))?.state === 'deleted');
  const stopped = second.heard.filter(({ instanceUuid, state }) => instanceUuid === moved && state === 'stopped');
  expect(stopped).toHaveLength(1);
  await top.client.operateAndWait(small, 'stop', { timeoutMs: 20_000 });
  const parts = { client: top.client, signal: new AbortController().signal, onProgress: () => {} };
  const drained = await drainCell(parts, { cell: B, reason: 'a test', parallel: 2, timeoutMs: 30_000 });
  const outcome = new Map(drained.map(({ uuid, cell, stays }) => [uuid, `${cell} ${stays?.split(':')[0] ?? 'left'}`]));
  expect(outcome).toEqual(
    new Map([
      [small, 'cell1 left'],
      [large, 'b no_valid_host'],
    ]),
  );
  expect(await top.client.instance(large)).toMatchObject({ state: 'active', cell: B });
  expect(await top.client.instance(small)).toMatchObject({ state: 'stopped', cell: 'cell1' });
  expect(await there(first, small)).toMatchObject({ state: 'stopped' });
  expect((await top.client.cells(B))[0]?.state).toBe('draining');
  await top.client.setCellState(B, 'enabled');
  for (const uuid of [moved, small, large]) await top.client.terminateAndWait(uuid, { timeoutMs: 20_000 });
  const held: string[] = [];
  await top.placement.scanConsumers(async (consumers) => {
    held.push(...consumers.map(({ uuid }) => uuid));
  });
  expect(held.filter((uuid) => [moved, small, large].includes(uuid))).toEqual([]);
});

it('a request sent twice is built once', async () => {
  await allIsFree();
  const ids = { requestId: systemRandom.uuid(), instanceUuids: [systemRandom.uuid()] };
  const [event] = await top.client.buildAndWait({ ...wanted(1), ...ids }, { timeoutMs: 30_000 });
  await top.client.build({ ...wanted(1), ...ids });
  await top.client.terminateAndWait(event?.instanceUuid ?? '', { timeoutMs: 20_000 });
  const rows = await Promise.all([first, second].map(({ client }) => client.instances({ requestId: ids.requestId })));
  expect(rows.flat()).toHaveLength(1);
});

it('a cell that is disabled gets nothing new, also from a top scheduler that starts later', async () => {
  await top.client.setCellState(B, 'disabled', 'a test');
  await world.kill('top', 'top-scheduler');
  await world.launch('top', 'top-scheduler', TOP);
  await eventually('the next one knows', async () => (await top.client.cells(B))[0]?.state === 'disabled');
  const [event] = await top.client.buildAndWait(wanted(6), { timeoutMs: 20_000 });
  expect(event?.fault?.message).toContain('b: disabled, gets no new builds');
  await top.client.setCellState(B, 'enabled');
});

it('without the top and without schedulers a cell takes its builds to the end, and the top hears of it when it is back', async () => {
  // The host with the most capacity fails all builds.
  await world.launch(B, 'agent.h3', {
    ...LONG_LEASE,
    BERTH_AGENT_INVENTORY: 'VCPU=64,MEMORY_MB=262144',
    BERTH_AGENT_FAKE_FAILURE_RATE: '1',
    BERTH_AGENT_FAKE_LATENCY_MS: '2000',
  });
  await eventually('b has it', async () => (await top.client.cells(B))[0]?.summary?.availableCount === 3);
  const { instanceUuids } = await top.client.build({ ...wanted(6), count: 2 });
  await eventually('the first host builds', async () => {
    const rows = await second.instances.get(instanceUuids);
    return rows.length === 2 && rows.some(({ state, host }) => state === 'building' && host === 'h3');
  });
  await Promise.all([
    world.kill('top', 'top-conductor'),
    world.kill('top', 'top-scheduler'),
    world.kill(B, 'scheduler'),
  ]);
  await eventually('the cell is done', async () => {
    const rows = await second.instances.get(instanceUuids);
    return rows.every(({ state, host }) => state === 'active' && host === 'h2');
  });
  const rows = await second.instances.get(instanceUuids);
  const failedOver = rows.find(({ attempts }) => attempts.length > 1);
  expect(failedOver?.attempts.map(({ host, outcome }) => [host, outcome])).toEqual([
    ['h3', 'failed'],
    ['h2', 'active'],
  ]);
  // The other one may have been ACTIVE before the top's outage; the top may not have heard of this one's build.
  const [known] = await top.instances.get([failedOver?.uuid ?? '']);
  expect(['scheduling', 'building']).toContain(known?.state);
  await world.launch('top', 'top-conductor', CONDUCTOR);
  await eventually('the top has heard', async () => {
    return (await top.instances.get(instanceUuids)).every(({ state, host }) => state === 'active' && host === 'h2');
  });
});

it('an unreachable cell delays its own builds, clearly, and no others', async () => {
  await world.launch('top', 'top-scheduler', TOP);
  await eventually('b is silent', async () => (await top.client.cells(B))[0]?.isReachable === false);
  const [others] = await top.client.buildAndWait(wanted(1), { timeoutMs: 20_000 });
  expect(others).toMatchObject({ state: 'active' });
  const { instanceUuids } = await top.client.build(wanted(16));
  const uuid = instanceUuids[0] ?? '';
  await eventually('it says what it waits for', async () => {
    const row = await top.client.instance(uuid);
    return row.state === 'scheduling' && /b: unreachable/.test(row.fault?.message ?? '');
  });
  const ended = await top.client.wait(uuid, ['error'], { timeoutMs: 20_000 });
  expect(ended.fault?.message).toMatch(/b: unreachable/);
  await world.launch(B, 'scheduler');
  await eventually('b is back', async () => (await top.client.cells(B))[0]?.isReachable === true);
  const [event] = await top.client.buildAndWait(wanted(5), { timeoutMs: 30_000 });
  expect(event).toMatchObject({ state: 'active' });
});
