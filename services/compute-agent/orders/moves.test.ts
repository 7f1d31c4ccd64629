import { randomUUID } from 'node:crypto';
import { BerthError } from '#libs/domain/errors';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import type { DriverMoves } from '../drivers/driver';
import { AgentWorld } from '../testing/agent-world';

let world: AgentWorld;
const instanceUuid = randomUUID();
const migrationUuid = migrationUuidOf(instanceUuid);
const INVENTORY = { INVENTORY: 'VCPU=2,MEMORY_MB=4096' };

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

async function startWithOne(settings = {}): Promise<void> {
  await world.startAll({ ...INVENTORY, ...settings });
  await world.build({ instanceUuid });
  await world.results.has(1);
  world.driver?.data.set(instanceUuid, 'what it has written');
}

async function handOver(live = false) {
  const before = world.powerReports.items.length;
  await world.setPowerState({ instanceUuid, powerState: 'shutdown', migrationUuid, live });
  await world.powerReports.has(before + 1);
  return world.powerReports.items.at(-1);
}

async function arrive(fields: Parameters<AgentWorld['build']>[0]): Promise<string | undefined> {
  const before = world.results.items.length;
  await world.build({ instanceUuid, ...fields });
  await world.results.has(before + 1);
  return world.outcomes().at(-1);
}

const IN_PLACE = { inPlace: true, handover: new Uint8Array() };

it('stops what is to be moved, keeps it, and hands over what its destination needs; asked again, the same', async () => {
  await startWithOne();
  const first = await handOver();
  expect(first).toMatchObject({ powerState: 'shutdown', migrationUuid, reason: '' });
  expect(Buffer.from(first?.handover ?? []).toString()).toBe('what it has written');
  expect(await world.driver?.list()).toEqual([]);
  expect(Buffer.from((await handOver())?.handover ?? []).toString()).toBe('what it has written');
});

it('leaves what can not be handed over as it was, and says why', async () => {
  await startWithOne({ FAKE_DIRTY_RATE: '1' });
  expect(await handOver(true)).toMatchObject({ powerState: 'running', reason: 'migration_not_converging' });
  expect(await world.driver?.list()).toHaveLength(1);
});

/** Cuts into the driver's handover. */
function duringHandOver(act: (driver: NonNullable<typeof world.driver>) => void): void {
  const { driver } = world;
  if (!driver?.moves) throw new Error('this driver moves nothing');
  const handOverNow = driver.moves.handOver.bind(driver.moves);
  Object.assign(driver.moves, {
    handOver: (...args: Parameters<DriverMoves['handOver']>) => {
      act(driver);
      return handOverNow(...args);
    },
  });
}

it('keeps what exits by itself while it is stopped for a cold move, and hands it over', async () => {
  await startWithOne();
  duringHandOver((driver) => driver.exit(instanceUuid, 'shut down by its user'));
  expect(await handOver()).toMatchObject({ powerState: 'shutdown', reason: '' });
  await world.settle();
  expect(world.outcomes()).toEqual(['1 active']);
  expect(world.driver?.data.get(instanceUuid)).toBe('what it has written');
});

it('reports what exits during a cold move that fails as lost', async () => {
  await startWithOne();
  duringHandOver((driver) => {
    driver.exit(instanceUuid, 'exit code 1');
    throw new BerthError('internal', 'driver_failed', 'this move was made to fail');
  });
  await handOver();
  await world.results.has(2);
  expect(world.outcomes()).toEqual(['1 active', '1 lost exited']);
});

it('builds what arrives of what was handed over', async () => {
  await world.startAll(INVENTORY);
  const handover = Buffer.from('from elsewhere');
  expect(await arrive({ attempt: 2, arrival: { inPlace: false, handover } })).toBe('2 active');
  expect(world.driver?.data.get(instanceUuid)).toBe('from elsewhere');
});

it('goes on with what was handed over when it comes back, by the new attempt, and takes no order for the old one', async () => {
  await startWithOne();
  await handOver();
  expect(await arrive({ attempt: 3, claimToken: 9, arrival: IN_PLACE })).toBe('3 active');
  expect(await world.driver?.list()).toHaveLength(1);
  await world.setPowerState({ instanceUuid, powerState: 'shutdown', migrationUuid, attempt: 1 });
  await world.settle();
  expect(await world.driver?.list()).toHaveLength(1);
  expect(await arrive({ attempt: 3, claimToken: 9, arrival: IN_PLACE })).toBe('3 active');
});

it('does not go on once another run may hold its host, and goes on when the host is surely held again', async () => {
  await startWithOne({ REPORT_INTERVAL_MS: '1000' });
  await handOver();
  const start = world.driver?.start.bind(world.driver);
  let goOn = () => {};
  const standingStill = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  Object.assign(world.driver ?? {}, {
    start: async (...args: Parameters<NonNullable<typeof start>>) => {
      await standingStill;
      await start?.(...args);
    },
  });
  await world.build({ instanceUuid, attempt: 3, claimToken: 9, arrival: IN_PLACE });
  world.onStats = async () => {
    throw new BerthError('unavailable', 'store_away', 'the store is away');
  };
  await world.clock.advance(10_000);
  goOn();
  await world.settle();
  expect([await world.driver?.list(), world.outcomes()]).toEqual([[], ['1 active']]);
  world.onStats = async () => {};
  await world.clock.advance(10_000);
  expect(world.outcomes()).toEqual(['1 active', '3 active']);
  expect(await world.driver?.list()).toHaveLength(1);
});

it('does not go on by an order of an earlier epoch, and says so: its host may have been evacuated since', async () => {
  world.holders.set('h1', { epoch: 4, run: 'the run before', untilMs: 0 });
  await startWithOne();
  await handOver();
  const arrival = { attempt: 3, claimToken: 9, arrival: IN_PLACE };
  expect(await arrive({ ...arrival, epoch: 4 })).toBe('3 refused earlier_epoch');
  expect(await world.driver?.list()).toEqual([]);
  expect(await arrive({ ...arrival, epoch: 5 })).toBe('3 active');
  expect(await arrive({ ...arrival, epoch: 4 })).toBe('3 active');
  expect(await world.driver?.list()).toHaveLength(1);
});

it('keeps, stopped, what goes on here and is not to run: resized or not, and asked again', async () => {
  await startWithOne();
  const { providerUuid = '' } = world.stats.items.at(-1) ?? {};
  const allocations = { [providerUuid]: { VCPU: 2 } };
  const resized = { attempt: 2, claimToken: 9, allocations, arrival: IN_PLACE, powerState: 'shutdown' } as const;
  for (let again = 0; again < 2; again++) expect(await arrive(resized)).toBe('2 active');
  expect(await world.driver?.list()).toEqual([]);
  await world.setPowerState({ instanceUuid, powerState: 'running', attempt: 2, claimToken: 9 });
  await world.powerReports.has(1);
  expect(await world.driver?.list()).toEqual([{ id: instanceUuid, resources: { VCPU: 2 } }]);
  expect(await arrive({ ...resized, attempt: 3, claimToken: 11 })).toBe('3 active');
  expect(await world.driver?.list()).toEqual([]);
});

it('refuses to go on with what is not here, and to take in what is here still', async () => {
  await startWithOne();
  expect(await arrive({ instanceUuid: randomUUID(), attempt: 2, arrival: IN_PLACE })).toBe('2 refused not_here');
  const arrival = { inPlace: false, handover: new Uint8Array() };
  Object.assign(world.driver ?? {}, { carriesOn: true });
  expect(await arrive({ attempt: 2, claimToken: 9, arrival })).toBe('2 refused stale_copy');
  expect(await world.driver?.list()).toHaveLength(1);
});

it('gives nothing to others of what it uses until it is resized', async () => {
  await startWithOne();
  const { providerUuid = '' } = world.stats.items.at(-1) ?? {};
  const vcpus = (VCPU: number) => ({ [providerUuid]: { VCPU } });
  await handOver();
  expect(await arrive({ attempt: 2, claimToken: 9, allocations: vcpus(2), arrival: IN_PLACE })).toBe('2 active');
  let finish: (() => void) | undefined;
  const { moves } = world.driver ?? {};
  if (!moves) throw new Error('the driver moves nothing');
  const atOnce = { ...moves };
  const resize: DriverMoves['resize'] = async (instance) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    await atOnce.resize(instance);
  };
  Object.assign(moves, { resize });
  await world.build({ instanceUuid, attempt: 3, claimToken: 11, allocations: vcpus(1), arrival: IN_PLACE });
  await world.settle();
  expect(await arrive({ instanceUuid: randomUUID(), allocations: vcpus(1) })).toBe('1 refused insufficient_vcpu');
  finish?.();
  await world.settle();
  expect(world.outcomes().at(-1)).toBe('3 active');
  expect(await arrive({ instanceUuid: randomUUID(), allocations: vcpus(1) })).toBe('1 active');
});

it('starts what could not be resized with what it holds now, and never with what it held before', async () => {
  await startWithOne();
  const { providerUuid = '' } = world.stats.items.at(-1) ?? {};
  const vcpus = (VCPU: number) => ({ [providerUuid]: { VCPU } });
  await handOver();
  expect(await arrive({ attempt: 2, claimToken: 9, allocations: vcpus(2), arrival: IN_PLACE })).toBe('2 active');
  const { moves } = world.driver ?? {};
  if (!moves) throw new Error('the driver moves nothing');
  const atOnce = { ...moves };
  let fails = true;
  const resize: DriverMoves['resize'] = async (instance) => {
    if (fails) throw new Error('no room on its disk');
    await atOnce.resize(instance);
  };
  Object.assign(moves, { resize });
  await arrive({ attempt: 3, claimToken: 11, allocations: vcpus(1), arrival: IN_PLACE });
  expect(world.outcomes().at(-1)).toMatch(/^3 failed/);
  const start = async () => {
    const before = world.powerReports.items.length;
    await world.setPowerState({ instanceUuid, powerState: 'running', attempt: 3, claimToken: 11 });
    await world.powerReports.has(before + 1);
    return world.powerReports.items.at(-1)?.powerState;
  };
  expect(await start()).toBe('shutdown');
  expect(await world.driver?.list()).toEqual([]);
  fails = false;
  expect(await start()).toBe('running');
  expect(await world.driver?.list()).toEqual([{ id: instanceUuid, resources: { VCPU: 1 } }]);
});

it('reports as lost what stops by itself while it is handed over, and keeps nothing of it', async () => {
  await startWithOne({ FAKE_COPY_MS: '1000', FAKE_DIRTY_RATE: '0.01' });
  await world.setPowerState({ instanceUuid, powerState: 'shutdown', migrationUuid, live: true });
  await world.clock.advance(500);
  world.driver?.exit(instanceUuid, 'exit code 1');
  await world.clock.advance(60_000);
  expect(world.outcomes()).toEqual(['1 active', '1 lost exited']);
  expect(world.powerReports.items).toEqual([]);
  expect(world.stats.items.at(-1)?.instances).toEqual([]);
});
