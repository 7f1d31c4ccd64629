import { type NodeView, nodeCodec } from '#libs/contracts/nodes';
import { runLine } from '../../../services/cli/testing/run-line';
import { PoolFleet } from '../../fleet/pool-fleet';

/* A running agent and the systems of one Redfish service, whose tenants call them as they like. */

/** Systems that answer 500. */
const broken = ['node-5'];
let fleet: PoolFleet;

beforeAll(async () => {
  fleet = await PoolFleet.start({
    nodeCount: 5,
    agentCount: 1,
    bootMs: 1_500,
    isShared: true,
    quirks: { broken },
    prepare(simulator) {
      Object.assign(simulator.system('node-1'), { hostName: 'localhost' });
      Object.assign(simulator.system('node-2'), { hostName: 'localhost', uuid: '' });
      const twin = { uuid: simulator.system('node-3').uuid, serial: 'Default string' };
      Object.assign(simulator.system('node-3'), twin);
      Object.assign(simulator.system('node-4'), twin);
    },
    settings: {
      BERTH_AGENT_NODE_POLL_MS: '100',
      BERTH_AGENT_REPORT_INTERVAL_MS: '1500',
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '90000',
    },
  });
});
afterAll(() => fleet?.stop());

async function node(name: string): Promise<NodeView | undefined> {
  return (await fleet.nodes()).find(({ host }) => host === name);
}

async function isEventually(name: string, expected: (node: NodeView) => boolean): Promise<NodeView> {
  let found: NodeView | undefined;
  await fleet.eventually(async () => {
    found = await node(name);
    return found && expected(found) ? undefined : `node ${name} is ${JSON.stringify({ ...found, journal: '' })}`;
  }, 60_000);
  return found as NodeView;
}

const mark = (name: string) => fleet.simulator.system(name).assetTag;

/** Restarts the agent, and resolves when it manages a node again. */
async function restartAgent(managed: string): Promise<void> {
  const before = mark(managed);
  await fleet.restart('agent-1', {});
  await fleet.eventually(async () => (mark(managed) === before ? `${managed} is not claimed` : undefined), 60_000);
  await isEventually(managed, ({ serviceHost }) => serviceHost === 'agent-1');
}

it('serves what can be told apart, whatever the systems are called, and shows why the others wait', async () => {
  const first = await isEventually('node-1', ({ state }) => state === 'available');
  const second = await isEventually('node-2', ({ state }) => state === 'available');
  expect([first.systemId, second.systemId]).toEqual(['0badcafe-0000-4000-8000-000000000001', 'serial SN2']);
  for (const name of ['node-3', 'node-4']) {
    expect(await isEventually(name, ({ health }) => health.includes('apart'))).toMatchObject({ state: 'enroll' });
  }
  await isEventually('node-5', ({ health }) => health.includes('500'));
  const { out } = await runLine('node list', fleet.commandEnv);
  expect(out).toMatch(/node-1 .* ok .* ago/);
  expect(out).toMatch(/node-5 .*answered 500/);
  expect(fleet.simulator.orders.filter(({ node: name }) => name === 'node-3' || name === 'node-4')).toEqual([]);
});

describe('a machine with an instance', () => {
  let uuid: string;
  let home: string;
  let other: string;
  const untouched = async () => {
    expect(fleet.simulator.system(home)).toMatchObject({ isOn: true, boots: ['Pxe'] });
    expect((await fleet.instances.get([uuid]))[0]).toMatchObject({ state: 'active', host: home });
  };

  beforeAll(async () => {
    [uuid = ''] = await fleet.request(1);
    await fleet.areAll([uuid], 'active', 60_000);
    home = (await fleet.nodes()).find(({ instanceUuid }) => instanceUuid === uuid)?.host ?? '';
    other = home === 'node-1' ? 'node-2' : 'node-1';
  });

  it.each(['evil', 'node-1', 'node-2', ''])('stays its node when it calls itself "%s"', async (hostName) => {
    fleet.simulator.system(home).hostName = hostName;
    await restartAgent(home);
    expect(await node(home)).toMatchObject({ state: 'active', instanceUuid: uuid });
    expect((await fleet.nodes()).map(({ host }) => host).toSorted()).toEqual([1, 2, 3, 4, 5].map((n) => `node-${n}`));
    await untouched();
  });

  it.each(['evil', 'the other'])(
    'is no other node where an older version knew it by its name, and it calls itself %s meanwhile',
    async (called) => {
      await forgetMachines();
      Object.assign(fleet.simulator.system(other), { hostName: other });
      fleet.simulator.system(home).hostName = called === 'evil' ? called : other;
      const marked = mark(home);
      await fleet.restart('agent-1', {});
      const doubted = await new Promise<NodeView>((resolve, reject) => {
        const isSeen = async () => {
          const found = (await fleet.nodes()).find(({ health }) => health.includes(`Systems/${home} calls itself`));
          if (found) resolve(found);
          return found ? undefined : 'nothing is in doubt';
        };
        fleet.eventually(isSeen, 60_000).catch(reject);
      });
      expect(doubted).toMatchObject({ state: 'enroll', systemId: '', systemLink: '' });
      expect([await node(home), mark(home)]).toMatchObject([{ state: 'active', instanceUuid: uuid }, marked]);
      await untouched();
      fleet.simulator.system(home).hostName = home;
      await restartAgent(home);
      await isEventually(home, ({ systemId, state }) => systemId !== '' && state === 'active');
      await untouched();
    },
  );

  it('gets no order when another machine answers in its place, nor may that be enrolled', async () => {
    const putBack = replaceMachine(home);
    await isEventually(home, ({ health }) => health.includes('in its place'));
    const before = ordersOf(home);
    const { code, err } = await runLine(`node enroll ${home}`, fleet.commandEnv);
    expect([code === 0, err]).toEqual([false, expect.stringContaining('in state active')]);
    expect(ordersOf(home)).toEqual(before);
    putBack();
    await isEventually(home, ({ health, state }) => health === '' && state === 'active');
    await untouched();
  });

  it('is given out when it replaces one without an instance, once an operator enrolled it, after a cleaning', async () => {
    const { systemId } = await isEventually(other, ({ state, health }) => state === 'available' && health === '');
    replaceMachine(other);
    await isEventually(other, ({ health }) => health.includes('in its place'));
    const before = ordersOf(other);
    expect((await runLine(`node enroll ${other}`, fleet.commandEnv)).code).toBe(0);
    const enrolled = await isEventually(other, (one) => one.state === 'available' && one.systemId !== systemId);
    expect(enrolled.systemId).toContain('99');
    expect(ordersOf(other).slice(before.length)).toContain('Boot Utilities');
  });
});

/** Another machine stands in the place of a node's, and knows no session; the returned function puts the first back. */
function replaceMachine(name: string): () => void {
  const system = fleet.simulator.system(name);
  const { uuid, serial, assetTag } = system;
  const other = { uuid: uuid === '' ? '' : '0badcafe-0000-4000-8000-000000000099', serial: 'SN99', assetTag: '' };
  const stands = (machine: object) => {
    Object.assign(system, machine);
    fleet.simulator.expireSessions();
  };
  stands(other);
  return () => stands({ uuid, serial, assetTag });
}

function ordersOf(name: string): readonly string[] {
  return fleet.simulator.orders.filter(({ node: ordered }) => ordered === name).map(({ what }) => what);
}

/** The store as an older version left it: nodes are known by name alone. */
async function forgetMachines(): Promise<void> {
  await fleet.kill('agent-1');
  const hosts = ['node-1', 'node-2'];
  const [holders, contents] = await Promise.all([fleet.placement.holders(hosts), fleet.placement.nodes(hosts)]);
  for (const [n, host] of hosts.entries()) {
    const record = nodeCodec.decode(Buffer.from(contents[n] ?? '', 'base64'));
    const updatedAtMs = record.updatedAtMs + 1;
    const older = { ...record, systemId: '', systemLink: '', updatedAtMs };
    const { epoch = 0 } = holders[n] ?? {};
    await fleet.placement.writeNode({
      host,
      epoch,
      updatedAtMs,
      content: Buffer.from(nodeCodec.encode(older)).toString('base64'),
    });
  }
}
