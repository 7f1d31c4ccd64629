import type { NodeView } from '#libs/contracts/nodes';
import { IronicOperator } from '#libs/testing/ironic/ironic-operator';
import { startIronic } from '#libs/testing/ironic/ironic-server';
import type { TestServer } from '#libs/testing/servers/server-process';
import { runLine } from '../../../services/cli/testing/run-line';
import { PoolFleet } from '../../fleet/pool-fleet';

/* Two agents with the nodes of an Ironic, on a real broker and a real store: the service deploys and cleans. */

let server: TestServer;
let ironic: IronicOperator;
let fleet: PoolFleet;
const gold: string[] = [];
let iron = '';

beforeAll(async () => {
  server = await startIronic({ stepS: 1 });
  ironic = new IronicOperator(server.url);
  iron = await ironic.enrol('baremetal.iron');
  for (let n = 0; n < 4; n++) gold.push(await ironic.enrol('gold', ['CUSTOM_SSD']));
  fleet = await PoolFleet.start({
    nodeCount: 1,
    agentCount: 2,
    bootMs: 100,
    settings: {
      BERTH_AGENT_NODES: `ironic+${server.url}`,
      BERTH_AGENT_NODE_POLL_MS: '200',
      BERTH_AGENT_REPORT_INTERVAL_MS: '1500',
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '90000',
    },
  });
  await areFree(gold.length + 1);
});
afterAll(async () => {
  await fleet?.stop();
  await server?.stop();
});

function areFree(count: number): Promise<void> {
  return fleet.eventually(async () => {
    const free = (await fleet.nodes()).filter(({ state }) => state === 'available').length;
    return free === count ? undefined : `${free} nodes are available`;
  }, 90_000);
}

async function nodeOf(instanceUuid: string): Promise<NodeView | undefined> {
  return (await fleet.nodes()).find((node) => node.instanceUuid === instanceUuid);
}

/** The nodes that have an instance at Ironic: one or none. */
async function shownOf(instanceUuid: string) {
  return (await ironic.nodes()).filter(({ instance_uuid }) => instance_uuid === instanceUuid);
}

it('lists nodes by their uuids, with class, traits and state', async () => {
  const nodes = await fleet.nodes();
  expect(nodes.map(({ host }) => host).toSorted()).toEqual([iron, ...gold].toSorted());
  expect(nodes.find(({ host }) => host === iron)).toMatchObject({ resourceClass: 'CUSTOM_BAREMETAL_IRON', traits: [] });
  expect(nodes.find(({ host }) => host === gold[0])).toMatchObject({
    resourceClass: 'CUSTOM_BAREMETAL_GOLD',
    traits: ['CUSTOM_SSD'],
  });
});

it('builds on nodes of the class, and Ironic cleans them after', async () => {
  const uuids = [...(await fleet.request(2)), ...(await fleet.request(1, { CUSTOM_BAREMETAL_IRON: 1 }))];
  await fleet.areAll(uuids, 'active', 60_000);
  for (const uuid of uuids) expect(await shownOf(uuid)).toMatchObject([{ provision_state: 'active', protected: true }]);
  expect((await nodeOf(uuids[2] ?? ''))?.host).toBe(iron);
  await fleet.terminate(uuids);
  await fleet.areAll(uuids, 'deleted', 60_000);
  await areFree(gold.length + 1);
  for (const { instance_uuid, provision_state } of await ironic.nodes())
    expect([instance_uuid, provision_state]).toEqual([null, 'available']);
});

it('uses no node that is put into maintenance at Ironic, and says why', async () => {
  const [first = ''] = gold;
  await ironic.ask('PUT', `/v1/nodes/${first}/maintenance`, { reason: 'a disk' });
  await areFree(gold.length);
  expect((await runLine(`node show ${first}`, fleet.commandEnv)).out).toContain('a disk');
  const uuids = await fleet.request(gold.length - 1);
  await fleet.areAll(uuids, 'active', 60_000);
  expect(await ironic.node(first)).toMatchObject({ instance_uuid: null, provision_state: 'available' });
  await ironic.ask('DELETE', `/v1/nodes/${first}/maintenance`);
  await fleet.terminate(uuids);
  await fleet.areAll(uuids, 'deleted', 60_000);
  await areFree(gold.length + 1);
});

it('goes on with the deployment of an agent that is killed, once', async () => {
  const uuids = await fleet.request(gold.length);
  const begun = async () => (await fleet.nodes()).filter(({ state }) => state === 'deploying');
  await fleet.eventually(async () => {
    const held = (await begun()).filter(({ serviceHost }) => serviceHost === 'agent-1');
    const shown = await Promise.all(held.map(({ host }) => ironic.node(host)));
    const isUnderWay = shown.some(({ provision_state }) => provision_state === 'deploying');
    return isUnderWay ? undefined : 'agent-1 deploys nothing';
  }, 60_000);
  const placed = new Map((await begun()).map(({ instanceUuid, host }) => [instanceUuid, host]));
  await fleet.kill('agent-1');
  await fleet.areAll(uuids, 'active', 90_000);
  const instances = await fleet.instances.get(uuids);
  expect(instances.map(({ attempts }) => attempts.length)).toEqual(uuids.map(() => 1));
  expect(placed.size).toBeGreaterThan(0);
  for (const [uuid, host] of placed)
    expect(await shownOf(uuid)).toMatchObject([{ uuid: host, provision_state: 'active' }]);
  fleet.launch('agent-1');
  await fleet.terminate(uuids);
  await fleet.areAll(uuids, 'deleted', 60_000);
  await areFree(gold.length + 1);
});

it('brings builds to an end although Ironic restarts while it deploys', async () => {
  const uuids = await fleet.request(2);
  await fleet.eventually(async () => {
    const shown = await ironic.nodes();
    const count = shown.filter(({ provision_state }) => provision_state === 'deploying').length;
    return count === 2 ? undefined : `${count} deployments are under way`;
  }, 60_000);
  // Ironic's conductor takes what it was deploying for failed.
  await server.kill('SIGKILL');
  await server.restart();
  await fleet.areAll(uuids, 'active', 120_000);
  for (const uuid of uuids) expect(await shownOf(uuid)).toMatchObject([{ provision_state: 'active' }]);
  await fleet.terminate(uuids);
  await fleet.areAll(uuids, 'deleted', 60_000);
  await areFree(gold.length + 1);
});
