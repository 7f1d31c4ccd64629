import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import type { Method } from '#libs/contracts/codec';
import { acquireHostsMethod, releaseHostsMethod } from '#libs/contracts/host-leases';
import { listNodesMethod, type NodeView, readNodesMethod, writeNodeMethod } from '#libs/contracts/nodes';
import { joinPoolMethod, leavePoolMethod } from '#libs/contracts/pools';
import { RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { schedulerOptions } from '../options';
import { startScheduler } from '../start';
import { aStatsReport } from '../testing/stats';

/* Agents of a pool have users of their own on the broker: each of them tries everything that is not its own. */

const LEASE_MS = 60_000;
const GOLD = 'CUSTOM_BAREMETAL_GOLD';
let clock: FakeClock;
let placement: MemoryPlacementStore;
let busOf: (user: string) => Promise<Bus>;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  clock = fakeClock();
  placement = new MemoryPlacementStore();
  const broker = new MemoryBroker(clock, silentLog);
  const around = () => ({ clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) });
  busOf = async (user) => {
    const bus = await openBus({ busUrl: user === '' ? 'memory:' : `memory://${user}@broker` }, around(), broker);
    opened.push(bus);
    return bus;
  };
  const mirror = await Mirror.open(placement, around());
  const config = readConfig(schedulerOptions, {});
  const scheduler = await startScheduler({ ...around(), bus: await busOf(''), placement, mirror, config });
  opened.push(mirror, scheduler);
});
afterEach(async () => {
  for (const thing of opened.splice(0).toReversed()) await thing.close();
});

/** A pool's agent, whatever its rights. */
async function agent(pool: string, serviceHost: string) {
  const bus = await busOf(pool === '' ? '' : `pool-${pool}.${serviceHost}`);
  const agentRun = `run of ${serviceHost}`;
  const call = <Q, A>(method: Method<Q, A>, request: Q) =>
    callMethod({ bus, queue: STATS }, method, request, { timeoutMs: 5_000 });
  const acquire = async (hosts: readonly string[], of: { serviceHost?: string; pool?: string } = {}) => {
    const request = { serviceHost, agentRun, hosts, leaseMs: LEASE_MS, formerRun: '', pool, ...of };
    return (await call(acquireHostsMethod, request)).grants.map(({ epoch }) => epoch);
  };
  const report = (host: string, epoch: number, of: { serviceHost?: string } = {}) => {
    const providerUuid = `00000000-0000-4000-8000-00000000000${host.at(-1)}`;
    const said = { host, providerUuid, serviceHost, agentRun, epoch, inventories: { [GOLD]: inventory(1) } };
    return call(updateResourceStatsMethod, aStatsReport({ ...said, traits: [], ...of }));
  };
  const write = (host: string, epoch: number, of: { serviceHost?: string; pool?: string } = {}) =>
    call(writeNodeMethod, { serviceHost, epoch, node: aNode(host, of.pool ?? pool), ...of });
  return {
    acquire,
    report,
    write,
    call,
    /** Brings a node: holds it, writes what is remembered of it, reports it. */
    async bring(host: string): Promise<number> {
      const [epoch = 0] = await acquire([host]);
      await write(host, epoch);
      await report(host, epoch);
      return epoch;
    },
    read: async (...hosts: string[]) =>
      (await call(readNodesMethod, { serviceHost, hosts, pool: '', marker: '' })).nodes.map(({ host }) => host),
    join: (of: { serviceHost?: string; pool?: string } = {}) =>
      call(joinPoolMethod, { serviceHost, agentRun, formerRun: '', pool, weight: 1, leaseMs: LEASE_MS, ...of }),
    leave: (of: { serviceHost?: string; pool?: string } = {}) =>
      call(leavePoolMethod, { serviceHost, agentRun, pool, ...of }),
    release: (hosts: readonly string[], of: { serviceHost?: string; agentRun?: string } = {}) =>
      call(releaseHostsMethod, { serviceHost, agentRun, hosts, ...of }),
  };
}

function aNode(host: string, pool: string): NodeView {
  return aNodeRecord({ host, pool, updatedAtMs: 1, journal: 'of its manager' });
}

const refused = (reason: string) => ({ code: 'permission_denied', reason });
const fenced = { code: 'failed_precondition', reason: 'epoch_superseded' };

it('does all that is its own: joins, brings nodes, reports, reads, gives them to another of its pool, leaves', async () => {
  const [a, b] = [await agent('metal', 'a'), await agent('metal', 'b')];
  expect((await a.join()).members).toHaveLength(1);
  await a.bring('node-1');
  expect(await a.read('node-1', 'node-2')).toEqual(['node-1']);
  await a.release(['node-1']);
  const [epoch = 0] = await b.acquire(['node-1']);
  expect(await b.read('node-1')).toEqual(['node-1']);
  await b.write('node-1', epoch);
  await b.report('node-1', epoch);
  await a.leave();
});

it('acts neither as another agent nor in another pool, nor in none', async () => {
  const a = await agent('metal', 'a');
  await expect(a.join({ serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.leave({ serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.acquire(['node-1'], { serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.release(['node-1'], { serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.join({ pool: 'other' })).rejects.toMatchObject(refused('wrong_pool'));
  await expect(a.leave({ pool: 'other' })).rejects.toMatchObject(refused('wrong_pool'));
  for (const pool of ['other', ''])
    await expect(a.acquire(['node-1'], { pool })).rejects.toMatchObject(refused('wrong_pool'));
});

it('takes no host that is no node, its own name among them, and no node of another pool', async () => {
  const a = await agent('metal', 'a');
  await (await agent('other', 'x')).bring('node-9');
  const services = await agent('', 'any');
  for (const host of ['host-1', 'a']) await services.report(host, 0, { serviceHost: host }).catch(() => {});
  for (const host of ['host-1', 'node-9']) {
    await expect(a.acquire([host])).rejects.toMatchObject(refused('wrong_host'));
    await expect(a.acquire(['node-1', host])).rejects.toMatchObject(refused('wrong_host'));
  }
  // Nor once nobody holds it.
  await clock.advance(2 * LEASE_MS);
  await expect(a.acquire(['node-9'])).rejects.toMatchObject(refused('wrong_host'));
});

it('keeps no host from its own agent, by holding a name that nobody has reported yet', async () => {
  const a = await agent('metal', 'a');
  await a.acquire(['host-9']);
  await a.bring('node-1');
  const bus = await busOf('agent.host-9');
  const request = { serviceHost: 'host-9', agentRun: 'own', leaseMs: LEASE_MS, formerRun: '', pool: '' };
  const own = await callMethod(
    { bus, queue: STATS },
    acquireHostsMethod,
    { ...request, hosts: ['host-9'] },
    { timeoutMs: 5_000 },
  );
  expect(own.grants[0]?.epoch).toBeGreaterThan(0);
  // A node that its pool has brought stays with it, whatever other agents are named.
  const other = await busOf('agent.node-1');
  const node = { ...request, serviceHost: 'node-1', hosts: ['node-1'] };
  const { grants } = await callMethod({ bus: other, queue: STATS }, acquireHostsMethod, node, { timeoutMs: 5_000 });
  expect(grants).toMatchObject([{ epoch: 0, holderServiceHost: 'a' }]);
});

it('holds only so many names that nobody has reported', async () => {
  const a = await agent('metal', 'a');
  const names = (from: number, count: number) => Array.from({ length: count }, (_, n) => `node-${from + n}`);
  await a.acquire(names(0, 20_000));
  await expect(a.acquire(names(20_000, 1))).rejects.toMatchObject({
    code: 'failed_precondition',
    reason: 'too_many_new_hosts',
  });
  // Again those, and what another of the pool brings.
  await a.acquire(names(0, 1_000));
  await (await agent('metal', 'b')).bring('node-50001');
  await clock.advance(3_600_001);
  await a.acquire(names(20_000, 1));
});

it('reports nothing that it does not hold: an ordinary host, a node of another pool, one of another agent of its own', async () => {
  const [a, b] = [await agent('metal', 'a'), await agent('metal', 'b')];
  const epoch = await b.bring('node-1');
  const foreign = await (await agent('other', 'x')).bring('node-9');
  for (const [host, of] of [
    ['node-1', epoch],
    ['node-9', foreign],
    ['node-1', epoch + 1_000_000],
  ] as const) {
    await expect(a.report(host, of)).rejects.toMatchObject(fenced);
    await expect(a.write(host, of)).rejects.toMatchObject(fenced);
  }
  for (const host of ['host-5', 'a', 'node-5']) {
    await expect(a.report(host, 0)).rejects.toMatchObject({ reason: 'epoch_unknown' });
    await expect(a.report(host, 7)).rejects.toMatchObject({ reason: 'epoch_unknown' });
  }
  const mine = await a.bring('node-2');
  await expect(a.report('node-2', mine, { serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.write('node-2', mine, { serviceHost: 'b' })).rejects.toMatchObject(refused('wrong_host'));
  await expect(a.write('node-2', mine, { pool: 'other' })).rejects.toMatchObject(refused('wrong_pool'));
});

it('is heard no more of a node that another agent holds since, and reads nothing of other pools', async () => {
  const [a, b, x] = [await agent('metal', 'a'), await agent('metal', 'b'), await agent('other', 'x')];
  const before = await a.bring('node-1');
  await clock.advance(2 * LEASE_MS);
  const [epoch = 0] = await b.acquire(['node-1']);
  await expect(a.report('node-1', before)).rejects.toMatchObject(fenced);
  await expect(a.report('node-1', epoch)).rejects.toMatchObject(fenced);
  await a.release(['node-1']);
  await a.release(['node-1'], { agentRun: 'run of b' });
  await b.report('node-1', epoch);
  expect(await x.read('node-1')).toEqual([]);
  const list = callMethod(
    { bus: await busOf('pool-metal.a'), queue: RPC_SCHEDULER },
    listNodesMethod,
    { host: '', marker: '', limit: 9 },
    { timeoutMs: 5_000 },
  );
  await expect(list).rejects.toMatchObject(refused('services_only'));
});
