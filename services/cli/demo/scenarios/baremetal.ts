import type { NodeView } from '#libs/contracts/nodes';
import { BerthError } from '#libs/domain/errors';
import { createRing, type Ring } from '#libs/ring/ring';
import { table } from '../../views/table';
import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const AGENTS = ['metal-a', 'metal-b', 'metal-c'] as const;
const [DYING] = AGENTS;
const NODES = 12;
const BUILDS = 8;
const BOOT_MS = 1_500;
/** Schedulers refuse a node in maintenance long before the next report: they learn of the change at once. */
const REPORT_INTERVAL_MS = 1_000;
const ONE_NODE = { CUSTOM_BAREMETAL_DEMO: 1 };

/** Nodes that three agents share by the ring; one agent dies in the middle of builds. */
export const baremetal: Scenario = {
  name: 'baremetal',
  purpose:
    'three agents share a rack of nodes by the ring; one dies while it builds: its share goes on with the others',
  fleet: {
    hosts: NODES,
    shape: {},
    pool: { agents: AGENTS, bootMs: BOOT_MS },
    settings: {
      BERTH_AGENT_NODE_START: 'available',
      BERTH_AGENT_NODE_POLL_MS: '50',
      BERTH_AGENT_RING_SLACK: '0',
      BERTH_AGENT_REPORT_INTERVAL_MS: String(REPORT_INTERVAL_MS),
      BERTH_AGENT_REPORT_TIMEOUT_MS: '500',
      // Longer than a lease: other agents take its nodes over before schedulers mark them down.
      BERTH_SCHEDULER_HOST_TIMEOUT_MS: '10000',
    },
  },
  picture: pictureOfPool,

  async play(stage) {
    await isShared(stage, AGENTS);
    await stage.show('the pool: each node is with the agent that the ring names');
    await dieInTheMiddle(stage);
    await comeBack(stage);
    await maintain(stage);
    await clean(stage);
  },
};

/** Builds on most nodes, and kills an agent that has begun some. */
async function dieInTheMiddle(stage: Stage): Promise<void> {
  const { client, machines, rack } = stage.fleet;
  const before = await client.nodes();
  const request = requestFor('demo', ONE_NODE, 'demo');
  const { instanceUuids } = await client.build({ ...request, count: BUILDS });
  await stage.until(`${BUILDS} builds are asked for, and ${DYING} has switched on some of its nodes`, async () => {
    return (await client.nodes()).some(({ serviceHost, step }) => serviceHost === DYING && step === 'boot');
  });
  await machines.get(DYING)?.kill();
  stage.tell(stage.context.terminal.colours.red(`${DYING} is cut off from the broker in the middle of that`));
  await stage.show('now: * has an instance, ~ boots, - is cleaned, ! is in maintenance');

  const rest = AGENTS.filter((agent) => agent !== DYING);
  await isShared(stage, rest);
  const moved = whoMoved(before, await client.nodes());
  stage.tell(`its ${moved.length} nodes are with the others; of theirs none changed hands`);
  stage.check('only the share of the dead agent moves', moved.length > 0 && moved.every(([from]) => from === DYING));

  await stage.until('all builds end well, those of the dead agent, too: they go on at their step', async () => {
    const views = await Promise.all(instanceUuids.map((uuid) => client.instance(uuid)));
    return views.every(({ state }) => state === 'active');
  });
  const views = await Promise.all(instanceUuids.map((uuid) => client.instance(uuid)));
  stage.check(
    'each build is one attempt, on a node of its own',
    views.every(({ attempts }) => attempts.length === 1) && new Set(views.map(({ host }) => host)).size === BUILDS,
  );
  const boots = [...(rack?.nodes.values() ?? [])].flatMap(({ boots: all }) => all);
  stage.check('no node is built on twice', boots.length === BUILDS && boots.every((device) => device === 'Pxe'));
  stage.tell(`${boots.length} nodes were booted from the network, each once`);

  const [, , node] = moved.find(([, , name]) => rack?.nodes.get(name)?.isOn) ?? [];
  stage.tell(
    `${DYING}, which does not know, still has a session at ${node}, where an instance runs, and cuts the power`,
  );
  const refused = await rack?.switchOffAs(DYING, node ?? '').catch((thrown: unknown) => BerthError.from(thrown));
  stage.check('the controller refuses the agent before', refused?.reason === 'epoch_superseded');
  stage.tell(stage.context.terminal.colours.dim(`refused: ${refused?.message}`));
}

async function comeBack(stage: Stage): Promise<void> {
  const before = await stage.fleet.client.nodes();
  await stage.fleet.machines.get(DYING)?.revive();
  stage.tell(`${DYING} is started again`);
  const ring = ringOf(AGENTS);
  await stage.until('it is given nodes, until the others have no more than their fair share', async () => {
    const nodes = await stage.fleet.client.nodes();
    return AGENTS.every((agent) => {
      const its = nodes.filter(({ serviceHost }) => serviceHost === agent);
      const isAsTheRingSays = its.every(({ host }) => ring.ownerOf(host) === agent);
      return its.length > 0 && (isAsTheRingSays || its.length <= NODES / AGENTS.length);
    });
  });
  const moved = whoMoved(before, await stage.fleet.client.nodes());
  stage.check(
    'nodes move to the agent that is back, and nowhere else',
    moved.every(([, to]) => to === DYING),
  );
  await stage.show(`${moved.length} nodes have come back to it, with what runs on them`);
}

/** Measures the time from a node's maintenance to a scheduler's first refusal. */
async function maintain(stage: Stage): Promise<void> {
  const { client } = stage.fleet;
  const { clock } = stage.context;
  const host = (await client.nodes()).find(({ state }) => state === 'available')?.host ?? '';
  const spec = requestFor('', ONE_NODE, 'demo').spec;
  const passes = async () => (await client.explain(spec, { host })).hosts[0]?.passed === true;
  stage.check('a node that is free passes', await passes());
  const refusedAtMs = (async () => {
    const untilMs = clock.elapsed() + 2 * REPORT_INTERVAL_MS;
    while ((await passes()) && clock.elapsed() < untilMs);
    return clock.now();
  })();
  const { updatedAtMs } = await client.operateNode(host, { verb: 'maintain', reason: 'a new disk' });
  const tookMs = (await refusedAtMs) - updatedAtMs;
  stage.check('a node in maintenance is refused at once', tookMs < REPORT_INTERVAL_MS / 4);
  stage.tell(`${host} goes into maintenance: a scheduler refuses it ${tookMs} ms after the change`);
}

/** Shows that an instance's remains are removed before its node is offered again. */
async function clean(stage: Stage): Promise<void> {
  const { client, rack } = stage.fleet;
  const [used] = (await client.nodes()).filter(({ state }) => state === 'active');
  await client.terminate(used?.instanceUuid ?? '');
  await stage.until(`an instance is terminated: ${used?.host} is cleaned, and available again`, async () => {
    const [now] = await client.nodes(used?.host);
    return now?.state === 'available';
  });
  const boots = rack?.nodes.get(used?.host ?? '')?.boots ?? [];
  stage.check('it booted its utilities in between', boots.join() === 'Pxe,Utilities');
}

/** Waits until each node is held by the agent that the ring assigns it to. */
async function isShared(stage: Stage, agents: readonly string[]): Promise<void> {
  const ring = ringOf(agents);
  await stage.until(`${agents.join(', ')} manage all ${NODES} nodes`, async () => {
    const nodes = await stage.fleet.client.nodes();
    return nodes.length === NODES && nodes.every(({ host, serviceHost }) => serviceHost === ring.ownerOf(host));
  });
}

function ringOf(agents: readonly string[]): Ring {
  return createRing(agents.map((name) => ({ name, weight: 1 })));
}

type Move = readonly [from: string, to: string, node: string];

function whoMoved(before: readonly NodeView[], after: readonly NodeView[]): Move[] {
  const now = new Map(after.map(({ host, serviceHost = '' }) => [host, serviceHost]));
  return before
    .map(({ host, serviceHost = '' }): Move => [serviceHost, now.get(host) ?? '', host])
    .filter(([from, to]) => from !== to);
}

const MARKS: Partial<Record<NodeView['state'], string>> = {
  active: '*',
  deploying: '~',
  cleaning: '-',
  maintenance: '!',
};

/** The nodes of each agent, with their states. */
async function pictureOfPool({ context: { terminal }, fleet }: Stage): Promise<string> {
  const { green, yellow, red } = terminal.colours;
  const nodes = await fleet.client.nodes();
  const show = ({ host, state }: NodeView) => {
    const colour = state === 'active' ? green : state === 'maintenance' ? red : MARKS[state] ? yellow : String;
    return colour(`${host.replace('node-', '')}${MARKS[state] ?? ' '}`);
  };
  const rows = AGENTS.map((agent) => {
    const its = nodes.filter(({ serviceHost }) => serviceHost === agent);
    return [agent, its.length, its.map(show).join(' ')];
  });
  return table(terminal, ['AGENT', 'NODES', ''], rows);
}
