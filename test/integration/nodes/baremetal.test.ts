import { writeSync } from 'node:fs';
import type { Client } from '#libs/client/client';
import type { NodeView } from '#libs/contracts/nodes';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock } from '#libs/runtime/system';
import { runLine } from '../../../services/cli/testing/run-line';
import { PoolFleet } from '../../fleet/pool-fleet';

/* Two agents with a pool of nodes on a real broker and a real store, operated by commands; controllers speak Redfish. */

const NODES = 40;
const clock = systemClock();
let fleet: PoolFleet;
let client: Client;

beforeAll(async () => {
  fleet = await PoolFleet.start({
    nodeCount: NODES,
    agentCount: 2,
    bootMs: 1_500,
    settings: {
      BERTH_AGENT_NODE_POLL_MS: '100',
      BERTH_AGENT_REPORT_INTERVAL_MS: '1500',
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '90000',
    },
  });
  ({ client } = fleet);
  await fleet.eventually(async () => {
    const managed = (await fleet.nodes()).filter(({ serviceHost = '' }) => serviceHost !== '');
    return managed.length === NODES ? undefined : `${managed.length} nodes are managed`;
  }, 90_000);
});
afterAll(() => fleet?.stop());

async function run(line: string): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return runLine(line, fleet.commandEnv);
}

async function node(line: string): Promise<NodeView> {
  const { code, out, err } = await run(`node ${line} --json`);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as NodeView;
}

async function isIn(name: string, state: NodeView['state']): Promise<void> {
  await fleet.eventually(async () => {
    const [present] = await client.nodes(name);
    return present?.state === state ? undefined : `node ${name} is ${present?.state}`;
  }, 30_000);
}

it('lists nodes, shows one, and creates their class with their first report', async () => {
  const { out } = await run('node list');
  expect(out).toContain('node-01');
  expect(await node('show node-01')).toMatchObject({
    state: 'available',
    resourceClass: 'CUSTOM_BAREMETAL_GOLD',
    pool: 'metal',
    isOn: false,
    uuid: '',
  });
  const { code, err } = await run('node show nowhere');
  expect([code === 0, err]).toEqual([false, expect.stringContaining('there is no node nowhere')]);
});

it('builds on a node, cleans it after, and says no to what can not be', async () => {
  const [uuid = ''] = await fleet.request(1);
  await fleet.areAll([uuid], 'active', 60_000);
  const built = (await fleet.nodes()).find(({ instanceUuid }) => instanceUuid === uuid);
  const name = built?.host ?? '';
  expect(built).toMatchObject({ state: 'active', isOn: true });
  expect((await run(`node clean ${name}`)).err).toContain('a node in state active can not clean');
  await fleet.terminate([uuid]);
  await fleet.areAll([uuid], 'deleted', 60_000);
  await isIn(name, 'available');
  expect(fleet.simulator.system(name).boots).toEqual(['Pxe', 'Utilities']);
});

it('does what an operator wants: maintenance, power, cleaning', async () => {
  expect(await node('maintain node-02 --reason disk')).toMatchObject({ state: 'maintenance', reason: 'disk' });
  expect((await client.nodes('node-02'))[0]).toMatchObject({ stateBefore: 'available' });
  expect(await node('unmaintain node-02')).toMatchObject({ state: 'available', reason: '' });
  // Earlier builds may have used it.
  const { boots } = fleet.simulator.system('node-02');
  const booted = boots.length;
  expect(await node('power node-02 on --boot Pxe')).toMatchObject({ isOn: true, bootDevice: 'Pxe' });
  expect(boots.slice(booted)).toEqual(['Pxe']);
  await node('clean node-02');
  await isIn('node-02', 'available');
});

it('goes on with the builds of an agent that stands still beyond its lease, each once', async () => {
  const uuids = await fleet.request(8);
  await fleet.eventually(async () => {
    const begun = (await fleet.nodes()).filter(({ step, state }) => state === 'deploying' && step === 'boot').length;
    return begun >= 2 ? undefined : `${begun} builds are begun`;
  }, 30_000);
  fleet.signal('agent-1', 'SIGSTOP');
  await fleet.areAll(uuids, 'active', 60_000);
  await fleet.eventually(async () => {
    const left = (await fleet.nodes()).filter(({ serviceHost }) => serviceHost === 'agent-1').length;
    return left === 0 ? undefined : `${left} nodes are still with the agent that stands still`;
  }, 60_000);
  fleet.signal('agent-1', 'SIGCONT');
  await fleet.eventually(async () => {
    const back = (await fleet.nodes()).filter(({ serviceHost }) => serviceHost === 'agent-1').length;
    return back > NODES / 4 ? undefined : `${back} nodes are with the agent that is back`;
  }, 60_000);
  expect(fleet.orderedByTwo()).toEqual([]);
  const [instances, nodes] = [await fleet.instances.get(uuids), await fleet.nodes()];
  expect(instances.filter(({ attempts }) => attempts.length !== 1)).toEqual([]);
  const built = nodes.filter(({ instanceUuid }) => instanceUuid !== '');
  expect(built.map(({ instanceUuid }) => instanceUuid).toSorted()).toEqual(uuids.toSorted());
  await fleet.terminate(uuids);
  await fleet.areAll(uuids, 'deleted', 60_000);
});

it('refuses a node at the scheduler at once when it is taken out of service', async () => {
  const spec = { resources: { CUSTOM_BAREMETAL_GOLD: 1 }, projectId: 'p', userId: 'u' };
  const passes = async (host: string) => (await client.explain(spec, { host })).hosts[0]?.passed === true;
  const latenciesMs: number[] = [];
  const roundTripsMs: number[] = [];
  for (let n = 3; n <= NODES; n++) {
    const host = `node-${String(n).padStart(2, '0')}`;
    // Nodes of earlier builds may still be in cleaning.
    await isIn(host, 'available');
    await fleet.eventually(async () => ((await passes(host)) ? undefined : `${host} is refused`), 20_000);
    const askedAtMs = clock.elapsed();
    expect(await passes(host)).toBe(true);
    roundTripsMs.push(clock.elapsed() - askedAtMs);
    let refusedAtMs = 0;
    const refused = (async () => {
      while (await passes(host));
      refusedAtMs = clock.now();
    })();
    const { updatedAtMs } = await client.operateNode(host, { verb: 'maintain', reason: 'measured' });
    await refused;
    latenciesMs.push(refusedAtMs - updatedAtMs);
  }
  const [median, p99] = [percentile(latenciesMs, 50), percentile(latenciesMs, 99)];
  const roundTripMs = percentile(roundTripsMs, 50);
  const measured = { median, p99, 'median of one call': roundTripMs };
  const figures = Object.entries(measured).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
  writeSync(process.stdout.fd, `measured: from a change of state to a scheduler's refusal: ${figures.join(', ')}\n`);
  // 50 on an idle machine; on a busy one in proportion to the time of a call.
  expect(median).toBeLessThan(Math.max(50, 10 * roundTripMs));
});
