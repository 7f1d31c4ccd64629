import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { AgentWorld } from '../testing/agent-world';

let world: AgentWorld;
const instanceUuid = randomUUID();

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

async function startWithOne(settings = {}) {
  const agent = await world.startAll(settings);
  await world.build({ instanceUuid });
  await world.results.has(1);
  return agent;
}

async function set(powerState: 'running' | 'shutdown', fields = {}): Promise<void> {
  const before = world.powerReports.items.length;
  await world.setPowerState({ instanceUuid, powerState, ...fields });
  await world.powerReports.has(before + 1);
}

const said = () => world.powerReports.items.map(({ powerState, reason }) => `${powerState} ${reason}`.trim());

it('stops an instance and starts it again; while it is stopped, it holds its resources', async () => {
  await startWithOne({ INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
  await set('shutdown');
  expect(await world.driver?.list()).toEqual([]);
  await world.build();
  await world.results.has(2);
  expect(world.outcomes().at(-1)).toBe('1 refused insufficient_vcpu');
  await set('running');
  expect(await world.driver?.list()).toHaveLength(1);
  expect(said()).toEqual(['shutdown', 'running']);
});

it('reports what is stopped as there, and as stopped', async () => {
  await startWithOne({ REPORT_INTERVAL_MS: '10000' });
  await set('shutdown');
  await world.clock.advance(20_000);
  const [instance] = world.stats.items.at(-1)?.instances ?? [];
  expect(instance).toMatchObject({ instanceUuid, running: true, powerState: 'shutdown' });
});

it('does not do a late order over again, and says how it is', async () => {
  await startWithOne();
  const { epoch, position } = world.results.items[0] ?? { epoch: 0, position: 0 };
  const late = { restsOnEpoch: epoch, restsOnPosition: position };
  await set('shutdown');
  await set('running');
  await set('shutdown', late);
  expect(said()).toEqual(['shutdown', 'running', 'running']);
  expect(world.powerReports.items.at(-1)).toMatchObject(late);
  expect(await world.driver?.list()).toHaveLength(1);
});

it('does not do a late order over again after a copy of the build, which leaves it as it is', async () => {
  await startWithOne();
  const { epoch, position } = world.results.items[0] ?? { epoch: 0, position: 0 };
  await set('shutdown');
  await set('running');
  await world.build({ instanceUuid });
  await world.results.has(2);
  await set('shutdown', { restsOnEpoch: epoch, restsOnPosition: position });
  expect(said()).toEqual(['shutdown', 'running', 'running']);
  expect(await world.driver?.list()).toHaveLength(1);
});

it('is done once when it comes twice', async () => {
  await startWithOne();
  const { driver } = world;
  const stop = jest.spyOn(driver as NonNullable<typeof driver>, 'stop');
  await set('shutdown');
  await set('shutdown');
  expect(stop).toHaveBeenCalledTimes(1);
});

it('is done to what an earlier attempt built that a later one goes on with: the disk is an older one', async () => {
  await startWithOne();
  await world.setPowerState({ instanceUuid, powerState: 'shutdown', attempt: 2 });
  await world.settle();
  expect(said()).toEqual(['shutdown']);
});

it('leaves alone what another claim has built', async () => {
  await startWithOne();
  await world.setPowerState({ instanceUuid, powerState: 'shutdown', claimToken: 6 });
  await world.setPowerState({ instanceUuid: randomUUID(), powerState: 'shutdown' });
  await world.settle();
  expect(said()).toEqual([]);
  expect(await world.driver?.list()).toHaveLength(1);
});

it('retries a stop until it is done', async () => {
  await startWithOne();
  const { driver } = world;
  const stop = driver?.stop.bind(driver);
  let failures = 0;
  Object.assign(driver ?? {}, {
    stop: async (uuid: string) => {
      if (failures++ < 2) throw new Error('busy');
      await stop?.(uuid);
    },
  });
  await world.setPowerState({ instanceUuid, powerState: 'shutdown' });
  await world.clock.advance(1_000);
  expect(said()).toEqual(['shutdown']);
});

it('says why an instance can not be started', async () => {
  await startWithOne();
  await set('shutdown');
  Object.assign(world.driver ?? {}, {
    start: async () => Promise.reject(new BerthError('failed_precondition', 'not_started', 'no')),
  });
  await set('running');
  expect(said()).toEqual(['shutdown', 'shutdown not_started']);
});

it('does not start by a late copy what could not be started, and starts it by the next order', async () => {
  await startWithOne();
  await set('shutdown');
  const { epoch, position } = world.powerReports.items.at(-1) ?? { epoch: 0, position: 0 };
  const first = { restsOnEpoch: epoch, restsOnPosition: position };
  const { driver } = world;
  jest.spyOn(driver as NonNullable<typeof driver>, 'start').mockRejectedValueOnce(new Error('busy'));
  await set('running', first);
  await set('running', first);
  expect(said()).toEqual(['shutdown', 'shutdown unexpected', 'shutdown']);
  expect(await driver?.list()).toEqual([]);
  const failed = world.powerReports.items[1] ?? { epoch: 0, position: 0 };
  await set('running', { restsOnEpoch: failed.epoch, restsOnPosition: failed.position });
  expect(await driver?.list()).toHaveLength(1);
});

it('does not take for lost what stops by itself while it is stopped, and destroys what is stopped', async () => {
  await startWithOne();
  const { driver } = world;
  const stop = driver?.stop.bind(driver);
  Object.assign(driver ?? {}, {
    stop: async (uuid: string) => {
      await stop?.(uuid);
      await driver?.start(uuid);
      driver?.exit(uuid, 'exit code 0');
    },
  });
  await set('shutdown');
  await world.destroy({ instanceUuid });
  await world.results.has(2);
  expect(world.outcomes()).toEqual(['1 active', '1 destroyed destroyed']);
});

/** From now on an instance exits after each start. */
function exitWhenStarted(then?: 'and run again'): void {
  const { driver } = world;
  const start = driver?.start.bind(driver);
  Object.assign(driver ?? {}, {
    start: async (uuid: string) => {
      await start?.(uuid);
      driver?.exit(uuid, 'exit code 1');
      if (then) await start?.(uuid);
    },
  });
}

it('starts nothing once another run may hold its host, and starts it when the host is surely held again', async () => {
  await startWithOne({ REPORT_INTERVAL_MS: '1000' });
  await set('shutdown');
  const { driver } = world;
  const start = driver?.start.bind(driver);
  let goOn = () => {};
  const standingStill = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  Object.assign(driver ?? {}, {
    start: async (...args: Parameters<NonNullable<typeof start>>) => {
      await standingStill;
      await start?.(...args);
    },
  });
  await world.setPowerState({ instanceUuid, powerState: 'running' });
  world.onStats = async () => {
    throw new BerthError('unavailable', 'store_away', 'the store is away');
  };
  await world.clock.advance(10_000);
  goOn();
  await world.settle();
  expect([await driver?.list(), said()]).toEqual([[], ['shutdown']]);
  world.onStats = async () => {};
  await world.clock.advance(10_000);
  expect(said()).toEqual(['shutdown', 'running']);
  expect(await driver?.list()).toHaveLength(1);
});

it('reports as lost what stops by itself just after it was started, before that is on record', async () => {
  await startWithOne();
  await set('shutdown');
  exitWhenStarted();
  await set('running');
  await world.results.has(2);
  expect(said()).toEqual(['shutdown', 'running']);
  expect(world.outcomes()).toEqual(['1 active', '1 lost exited']);
  expect(world.stats.items.at(-1)?.instances).toEqual([]);
});

it('does not report as lost what an earlier run of it ended as, if it runs', async () => {
  await startWithOne();
  await set('shutdown');
  exitWhenStarted('and run again');
  await set('running');
  await world.settle();
  expect(world.outcomes()).toEqual(['1 active']);
  expect(await world.driver?.list()).toHaveLength(1);
});

it('is still stopped after a restart of the agent, and starts then', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  const agent = await startWithOne({ STATE_DIR: stateDir });
  await set('shutdown');
  const closing = agent.close();
  await world.clock.advance(100);
  await closing;
  await world.start({ STATE_DIR: stateDir });
  expect(world.stats.items.at(-1)?.instances).toMatchObject([{ instanceUuid, powerState: 'shutdown' }]);
  await set('running');
  expect(said()).toEqual(['shutdown', 'running']);
  expect(world.outcomes()).toEqual(['1 active']);
  rmSync(stateDir, { recursive: true, force: true });
});

it('does nothing by an order that rests on what an earlier run said, says how it is, and does the next', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  const agent = await startWithOne({ STATE_DIR: stateDir });
  await set('shutdown');
  const closing = agent.close();
  await world.clock.advance(100);
  await closing;
  world.holders.set('h1', { epoch: 5, run: 'another', untilMs: 0 });
  await world.start({ STATE_DIR: stateDir });
  // The disk has that state again, by which this order looks like the next.
  await set('running');
  expect(said()).toEqual(['shutdown', 'shutdown']);
  expect(world.powerReports.items.at(-1)).toMatchObject({ epoch: 6 });
  expect(await world.driver?.list()).toEqual([]);
  await set('running');
  expect(said()).toEqual(['shutdown', 'shutdown', 'running']);
  rmSync(stateDir, { recursive: true, force: true });
});

it('builds what is to be stopped without running it', async () => {
  await world.startAll({});
  await world.build({ instanceUuid, powerState: 'shutdown' });
  await world.results.has(1);
  expect(world.outcomes()).toEqual(['1 active']);
  expect(await world.driver?.list()).toEqual([]);
  await set('shutdown');
  await set('running');
  expect(await world.driver?.list()).toHaveLength(1);
  expect(said()).toEqual(['shutdown', 'running']);
});

it('does not start what was claimed on a provider that is gone', async () => {
  await startWithOne({ PROVIDERS: 'gpu0 VGPU=1' });
  await set('shutdown');
  const { providerUuid = '' } = world.stats.items.at(-1) ?? {};
  const gone = nestedProviderUuid(providerUuid, 'gpu9');
  await set('running', { allocations: { [gone]: { VGPU: 1 } } });
  expect(said().at(-1)).toBe('shutdown provider_gone');
});
