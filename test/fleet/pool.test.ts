import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { printFigure } from '../faults/fleet/figures';
import { PoolFleet } from './pool-fleet';

/*
 * Five agents share a thousand nodes by the ring. While they build, one is killed and one stands still beyond its lease: their nodes
 * are taken over with what was begun on them, no node is ordered by two, and nothing is built twice.
 */

const NODES = 1_000;
const BUILDS = 200;
const REPORT_INTERVAL_MS = 8_000;
const LEASE_MS = 2 * REPORT_INTERVAL_MS;

const clock = systemClock();
let fleet: PoolFleet;

beforeAll(async () => {
  fleet = await PoolFleet.start({
    nodeCount: NODES,
    agentCount: 5,
    bootMs: 4_000,
    settings: {
      BERTH_AGENT_REPORT_INTERVAL_MS: String(REPORT_INTERVAL_MS),
      BERTH_AGENT_LEASE_REPORTS: '2',
      BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '120000',
      // Builds on hosts that are taken as down are given up.
      BERTH_SCHEDULER_HOST_TIMEOUT_MS: '120000',
    },
  });
});
afterAll(() => fleet?.stop());

async function allManaged(withinMs: number): Promise<void> {
  await fleet.eventually(async () => {
    const shares = await fleet.shares();
    const managed = [...shares].filter(([agent]) => agent !== '').reduce((sum, [, count]) => sum + count, 0);
    return managed === NODES && shares.size === 5 ? undefined : JSON.stringify([...shares]);
  }, withinMs);
}

it('shares the nodes of a pool among five agents', async () => {
  await allManaged(150_000);
  const nodes = await fleet.nodes();
  expect(nodes.filter(({ state }) => state !== 'available')).toEqual([]);
});

it('takes over the nodes of agents that die or stand still, with what is begun on them', async () => {
  const uuids = await fleet.request(BUILDS);
  await fleet.eventually(async () => {
    const begun = (await fleet.nodes()).filter(({ state, step }) => state === 'deploying' && step === 'boot').length;
    return begun >= BUILDS / 10 ? undefined : `${begun} builds are begun`;
  }, 60_000);
  const brokenAtMs = clock.elapsed();
  await fleet.kill('agent-1');
  fleet.signal('agent-2', 'SIGSTOP');
  await fleet.eventually(async () => {
    const shares = await fleet.shares();
    const left = (shares.get('agent-1') ?? 0) + (shares.get('agent-2') ?? 0);
    return left === 0 ? undefined : `${left} nodes are not taken over: ${JSON.stringify([...shares])}`;
  }, 90_000);
  printFigure('two of five agents are gone', { 'their nodes are managed again': clock.elapsed() - brokenAtMs });
  fleet.signal('agent-2', 'SIGCONT');
  fleet.launch('agent-1');
  await fleet.areAll(uuids, 'active', 180_000);
  await sleep(clock, LEASE_MS);
  expect(fleet.orderedByTwo()).toEqual([]);

  const nodes = await fleet.nodes();
  const instances = await fleet.instances.get(uuids);
  const again = instances.filter(({ attempts }) => attempts.length > 1);
  expect(again.map(({ uuid, attempts }) => [uuid, ...attempts])).toEqual([]);
  const built = nodes.filter(({ state }) => state === 'active');
  expect(built.map(({ instanceUuid }) => instanceUuid).toSorted()).toEqual(uuids.toSorted());
  const attempts = new Map<string, number>();
  for (const { attempts: all } of instances)
    for (const { host } of all) attempts.set(host, (attempts.get(host) ?? 0) + 1);
  const boots = (node: string) => fleet.simulator.system(node).boots.filter((device) => device === 'Pxe').length;
  expect(nodes.map(({ host }) => host).filter((host) => boots(host) > (attempts.get(host) ?? 0))).toEqual([]);
  expect(fleet.said(/"event":"build_carried_on"/).length).toBeGreaterThan(0);
  expect(new Set(instances.map(({ host }) => host)).size).toBe(BUILDS);
});

it('gives the agents that are back their share again', async () => {
  await fleet.eventually(async () => {
    const shares = await fleet.shares();
    const isFair = shares.size === 5 && [...shares.values()].every((count) => count > NODES / 10);
    return isFair ? undefined : JSON.stringify([...shares]);
  }, 120_000);
  expect(fleet.orderedByTwo()).toEqual([]);
});
