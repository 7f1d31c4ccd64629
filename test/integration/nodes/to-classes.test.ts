import { sleep } from '#libs/domain/clock';
import type { Allocations } from '#libs/domain/consumer';
import { systemClock } from '#libs/runtime/system';
import { runLine } from '../../../services/cli/testing/run-line';
import { PoolFleet } from '../../fleet/pool-fleet';

/*
 * A running fleet of nodes that are scheduled by processors and memory moves to classes: its agents offer both for a
 * while, flavors change, instances' claims are healed, and agents offer classes only. Nothing is destroyed, and no node ever
 * has two consumers.
 */

const NODES = 9;
const MACHINE = { VCPU: 64, MEMORY_MB: 262_144 };
const BY_CLASS = { CUSTOM_BAREMETAL_GOLD: 1 };
const AGENTS = ['agent-1', 'agent-2'];
const clock = systemClock();
let fleet: PoolFleet;
/** Nodes with two consumers at once, by the store's stream. */
const doubleBooked: string[] = [];
const watching = new AbortController();
let watched: Promise<void>;

beforeAll(async () => {
  fleet = await PoolFleet.start({
    nodeCount: NODES,
    agentCount: 2,
    bootMs: 500,
    resources: MACHINE,
    settings: {
      BERTH_AGENT_NODE_OFFERS: 'machine',
      BERTH_AGENT_NODE_POLL_MS: '100',
      BERTH_AGENT_REPORT_INTERVAL_MS: '1500',
      BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '500',
      BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '2000',
    },
  });
  watched = watch();
});
afterAll(async () => {
  watching.abort();
  await watched;
  await fleet?.stop();
});

async function watch(): Promise<void> {
  while (!watching.signal.aborted) {
    const providers = Object.values(await held()).flatMap((allocations) => Object.keys(allocations));
    doubleBooked.push(...providers.filter((provider, n) => providers.indexOf(provider) !== n));
    await sleep(clock, 20, watching.signal);
  }
}

/** The allocations of each consumer. */
async function held(): Promise<Readonly<Record<string, Allocations>>> {
  const all: Record<string, Allocations> = {};
  await fleet.placement.snapshot(({ consumers = [] }) => {
    for (const { uuid, allocations } of consumers) all[uuid] = allocations;
  });
  return all;
}

async function berth(line: string): Promise<string> {
  const { code, out, err } = await runLine(line, fleet.commandEnv);
  if (code !== 0) throw new Error(`${line}: ${err}${out}`);
  return out;
}

/** Restarts the agents one after the other, and waits until all nodes are reported with these classes. */
async function rollTo(offers: 'both' | 'class', classes: readonly string[]): Promise<void> {
  for (const agent of AGENTS) await fleet.restart(agent, { BERTH_AGENT_NODE_OFFERS: offers });
  await fleet.eventually(async () => {
    let asWanted = 0;
    await fleet.placement.snapshot(({ providers = [] }) => {
      const isAsWanted = (names: string[]) => names.toSorted().join() === classes.join();
      asWanted += providers.filter(({ inventories }) => isAsWanted(Object.keys(inventories))).length;
    });
    return asWanted === NODES ? undefined : `${asWanted} nodes show ${classes.join()}`;
  }, 60_000);
}

/** The fields of a node that programs read. */
interface OnNode {
  readonly host: string;
  readonly uuid: string;
  readonly outcome?: string;
}

async function built(count: number): Promise<string[]> {
  const out = await berth(`build --flavor metal --count ${count} --wait --json`);
  return (JSON.parse(out) as { uuid: string }[]).map(({ uuid }) => uuid);
}

const amountsOf = async (uuids: readonly string[]) => {
  const all = await held();
  return uuids.map((uuid) => Object.values(all[uuid] ?? {})[0]);
};

it('goes from processors and memory to classes while it runs', async () => {
  await fleet.eventually(async () => {
    const count = (await fleet.nodes()).filter(({ serviceHost }) => serviceHost).length;
    return count === NODES ? undefined : `${count} nodes are managed`;
  }, 60_000);
  await berth('flavor create metal --vcpu 64 --memory-mb 262144');
  const before = await built(3);
  expect(await amountsOf(before)).toEqual([MACHINE, MACHINE, MACHINE]);
  const placed = await fleet.instances.get(before);

  await rollTo('both', ['CUSTOM_BAREMETAL_GOLD', 'MEMORY_MB', 'VCPU']);
  const between = await built(1);
  expect(await amountsOf(between)).toEqual([MACHINE]);
  // Both request what five nodes have, at the same time.
  const byAmounts = await fleet.request(4, MACHINE);
  const byClass = await fleet.request(4, BY_CLASS);
  const mixed = [...byAmounts, ...byClass];
  await fleet.eventually(async () => {
    const states = (await fleet.instances.get(mixed)).map(({ state }) => state).toSorted();
    const isSettled = states.length === 8 && states.every((state) => state === 'active' || state === 'error');
    return isSettled ? undefined : states.join();
  }, 60_000);
  const active = (await fleet.instances.get(mixed)).filter(({ state }) => state === 'active');
  expect(active).toHaveLength(NODES - 4);
  expect(doubleBooked).toEqual([]);

  const unready = await runLine('node heal --json', fleet.commandEnv);
  expect([unready.code, unready.out]).toEqual([1, expect.stringContaining('flavor_without_class')]);
  await berth(
    'flavor set metal --extra-spec resources:VCPU=0 --extra-spec resources:MEMORY_MB=0 --extra-spec resources:CUSTOM_BAREMETAL_GOLD=1',
  );
  const outcomes = JSON.parse(await berth('node heal --json')) as OnNode[];
  const nodes = JSON.parse(await berth('node list --json')) as OnNode[];
  const pairOf = ({ host, uuid }: OnNode) => `${uuid} on ${host}`;
  expect(outcomes.map(pairOf).toSorted()).toEqual(
    nodes
      .filter(({ uuid }) => uuid)
      .map(pairOf)
      .toSorted(),
  );
  expect(outcomes.every(({ outcome }) => outcome === 'healed' || outcome === 'was healed')).toBe(true);
  const all = [...before, ...between, ...active.map(({ uuid }) => uuid)];
  expect(await amountsOf(all)).toEqual(all.map(() => BY_CLASS));

  await rollTo('class', ['CUSTOM_BAREMETAL_GOLD']);
  // Gives audits, reports and repairs the time to find fault.
  await sleep(clock, 6_000);
  expect(await amountsOf(all)).toEqual(all.map(() => BY_CLASS));
  const after = await fleet.instances.get(all);
  expect(after.filter(({ state }) => state !== 'active')).toEqual([]);
  for (const { uuid, host, attempts } of placed) {
    const now = after.find((one) => one.uuid === uuid);
    expect([now?.host, now?.attempts.length]).toEqual([host, attempts.length]);
    expect(fleet.simulator.system(host ?? '').boots).toEqual(['Pxe']);
  }

  const [first = ''] = before;
  await berth(`terminate ${first} --wait`);
  expect((await held())[first]).toBeUndefined();
  await fleet.eventually(async () => {
    const { hosts } = await fleet.client.explain({ resources: BY_CLASS, projectId: 'p', userId: 'u' });
    return hosts.some(({ passed }) => passed) ? undefined : 'the node is not cleaned yet';
  }, 30_000);
  const again = await built(1);
  expect(await amountsOf(again)).toEqual([BY_CLASS]);
  expect(doubleBooked).toEqual([]);
});
