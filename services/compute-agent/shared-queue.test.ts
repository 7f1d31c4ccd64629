import { randomUUID } from 'node:crypto';
import { DEAD_LETTERS } from '#libs/bus/port';
import { destroyInstanceCodec } from '#libs/contracts/compute';
import { castTyped } from '#libs/contracts/rpc';
import { agentQueue } from '#libs/contracts/topology';
import { AgentWorld } from './agent-world';

const RACK = agentQueue('rack').name;
let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

const startRack = (settings = {}) => world.startAll({ HOST: 'rack', HOSTS: '3', ...settings });

it('is named in the reports of hosts that are carried together, and only of these', async () => {
  await startRack();
  await world.start();
  const named = world.stats.items.map(({ host, serviceHost }) => `${host} ${serviceHost}`.trim());
  expect(named.sort()).toEqual(['h1', 'rack-1 rack', 'rack-2 rack', 'rack-3 rack']);
});

it('takes builds as soon as anybody hears of a host', async () => {
  let given: Promise<void> | undefined;
  world.onStats = async () => {
    given ??= world.build({ host: 'rack-2' }, RACK);
    await given;
  };
  await startRack();
  await world.results.has(1);
  expect(world.outcomes()).toEqual(['1 active']);
});

it('gives each build to its host, which takes it by its own queue, too', async () => {
  await startRack({ INVENTORY: 'VCPU=1,MEMORY_MB=65536' });
  for (const host of ['rack-1', 'rack-2', 'rack-2', 'rack-3']) await world.build({ host }, RACK);
  await world.results.has(4);
  await world.build({ host: 'rack-3' }, agentQueue('rack-3').name);
  await world.results.has(5);
  const outcomes = world.results.items.map(({ host, outcome, reason }) => `${host} ${outcome} ${reason}`.trim());
  expect(outcomes.slice(0, 4).sort()).toEqual([
    'rack-1 active',
    'rack-2 active',
    'rack-2 refused insufficient_vcpu',
    'rack-3 active',
  ]);
  expect(outcomes[4]).toBe('rack-3 refused insufficient_vcpu');
});

it('lets a slow host hold up no other', async () => {
  await startRack({ FAKE_LATENCY_MS: '1000', MAX_BUILDS: '1', PREFETCH: '1' });
  await world.build({ host: 'rack-1' }, RACK);
  await world.build({ host: 'rack-1' }, RACK);
  await world.build({ host: 'rack-2' }, RACK);
  await world.clock.advance(1_000);
  expect(world.results.items.map(({ host }) => host).sort()).toEqual(['rack-1', 'rack-2']);
  await world.clock.advance(1_000);
  expect(world.results.items).toHaveLength(3);
});

it('sends what is for nobody here to the dead letters', async () => {
  await startRack();
  await world.build({ host: 'rack-9' }, RACK);
  await castTyped(world.bus, RACK, destroyInstanceCodec, { instanceUuid: randomUUID(), attempt: 0, report: false });
  await world.bus.cast(RACK, { type: 'berth.compute.v1.BuildInstance', body: Uint8Array.of(255) });
  await world.settle();
  expect(await world.bus.depth(DEAD_LETTERS)).toBe(3);
});

it('is left with what waits in line when the process ends; what is being built is finished and told', async () => {
  const agent = await startRack({ FAKE_LATENCY_MS: '1000', MAX_BUILDS: '1' });
  await world.build({ host: 'rack-1' }, RACK);
  await world.build({ host: 'rack-1' }, RACK);
  await world.settle();
  const closing = agent.close();
  await world.clock.advance(1_000);
  await closing;
  expect(world.outcomes()).toEqual(['1 active']);
  expect(await world.bus.depth(RACK)).toBe(1);
});
