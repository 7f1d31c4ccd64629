import { randomUUID } from 'node:crypto';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { DEAD_LETTERS } from '#libs/bus/port';
import { BUILD_RESULTS, queueName } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { AgentWorld } from '../testing/agent-world';

let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

it("leaves another project's instance of the same uuid alone, whatever it is ordered", async () => {
  await world.startAll();
  const instanceUuid = randomUUID();
  await world.build({ instanceUuid });
  await world.results.has(1);
  await world.build({ instanceUuid, projectId: 'project-2', attempt: 2, claimToken: 9 });
  await world.results.has(2);
  await world.destroy({ instanceUuid, projectId: 'project-2', attempt: 2, claimToken: 9 });
  await world.results.has(3);
  expect(world.outcomes()).toEqual(['1 active', '2 refused uuid_taken', '2 destroyed destroyed']);
  expect((await world.driver?.list())?.map(({ id }) => id)).toEqual([instanceUuid]);
  await world.destroy({ instanceUuid, projectId: 'project-1', attempt: 1, claimToken: 7 });
  await world.results.has(4);
  expect(await world.driver?.list()).toEqual([]);
});

it('says whether it has the room that a scheduler asks about, by what it runs now, and holds none of it', async () => {
  await world.startAll({ INVENTORY: 'VCPU=4,MEMORY_MB=8192' });
  expect(await world.ask({ VCPU: 4 })).toMatchObject({ host: 'h1', reason: '' });
  expect(await world.ask({ VCPU: 5 })).toMatchObject({ reason: 'insufficient_vcpu' });
  await world.build();
  await world.results.has(1);
  expect(await world.ask({ VCPU: 4 })).toMatchObject({ reason: 'insufficient_vcpu' });
});

describe('building', () => {
  it('builds what fits and reports it', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 2, claimToken: 99 });
    const [report] = await world.results.has(1);
    expect(report).toMatchObject({
      instanceUuid,
      host: 'h1',
      attempt: 2,
      claimToken: 99,
      outcome: 'active',
      reason: '',
    });
    expect((await world.driver?.list())?.map(({ id }) => id)).toEqual([instanceUuid]);
  });

  it('reports why a build failed, with where else it could go, and holds nothing for it', async () => {
    await world.startAll({ FAKE_FAILURE_RATE: '1', INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
    const alternates = [
      { host: 'h2', cell: 'cell1', allocationRequest: Uint8Array.of(1, 2), serviceHost: '', epoch: 0 },
    ];
    await world.build({ alternates });
    const [report] = await world.results.has(1);
    expect(report?.alternates.map(({ host }) => host)).toEqual(['h2']);
    await world.build();
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 failed fake_failure', '1 failed fake_failure']);
  });

  it('answers the order of a failed or refused build that comes again as before, and builds nothing by it', async () => {
    await world.startAll({ FAKE_FAILURE_RATE: '1', INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
    const build = async () => undefined;
    const orders = [
      { instanceUuid: randomUUID() },
      { instanceUuid: randomUUID(), requestSpec: aRequestSpec({ resources: { VCPU: 9 } }) },
    ];
    for (const [n, order] of orders.entries()) {
      await world.build(order);
      await world.results.has(n + 1);
    }
    Object.assign(world.driver ?? {}, { build });
    for (const [n, order] of orders.entries()) {
      await world.build(order);
      await world.results.has(n + 3);
    }
    const outcomes = ['1 failed fake_failure', '1 refused insufficient_vcpu'];
    expect(world.outcomes()).toEqual([...outcomes, ...outcomes]);
    await world.build({ instanceUuid: orders[0]?.instanceUuid ?? '', claimToken: 8 });
    await world.results.has(5);
    expect(world.outcomes().at(-1)).toBe('1 active');
  });

  it('puts an order back while its build takes long, builds once and reports once', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '10500', FAKE_LATENCY_SPREAD: '0', HOLD_MS: '1000' });
    let builds = 0;
    const driver = world.driver;
    const build = driver?.build.bind(driver);
    Object.assign(driver ?? {}, {
      build: (...args: Parameters<NonNullable<typeof build>>) => (builds++, build?.(...args)),
    });
    await world.build({ timeLeftMs: 30_000 });
    await world.clock.advance(9_000);
    expect(world.outcomes()).toEqual([]);
    await world.clock.advance(3_000);
    expect([world.outcomes(), builds]).toEqual([['1 active'], 1]);
    expect(await world.bus.depth(world.orderQueue)).toBe(0);
  });

  it('reports a failed build once, though its order was put back, and does not build it again', async () => {
    await world.startAll({
      FAKE_LATENCY_MS: '10500',
      FAKE_LATENCY_SPREAD: '0',
      FAKE_FAILURE_RATE: '1',
      HOLD_MS: '1000',
    });
    await world.build({ timeLeftMs: 30_000 });
    await world.clock.advance(40_000);
    expect(world.outcomes()).toEqual(['1 failed fake_failure']);
  });

  it('holds a build to its deadline, though its order comes again and again', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '60000', FAKE_LATENCY_SPREAD: '0', HOLD_MS: '1000' });
    await world.build({ timeLeftMs: 5_500 });
    await world.clock.advance(5_600);
    expect(world.outcomes()).toEqual(['1 failed deadline_passed']);
  });

  it('finds an order in its queue that was put back when its agent ended', async () => {
    const settings = { FAKE_LATENCY_MS: '10500', FAKE_LATENCY_SPREAD: '0', HOLD_MS: '1000', DRAIN_TIMEOUT_MS: '0' };
    const agent = await world.startAll(settings);
    await world.build();
    await world.clock.advance(2_500);
    const closing = agent.close();
    await world.clock.advance(100);
    await closing;
    expect(world.outcomes()).toEqual([]);
    expect(await world.bus.depth(world.orderQueue)).toBe(1);
  });

  it('refuses a build that came too late', async () => {
    await world.startAll();
    await world.build({ deadlineAtMs: world.clock.now() });
    await world.results.has(1);
    expect(world.outcomes()).toEqual(['1 refused deadline_passed']);
  });

  it.each([
    [80_000, '1 refused deadline_passed'],
    [10_000, '1 active'],
  ])(
    "goes by the store's clock of an order that waited for %i ms, whatever its own clock shows",
    async (waitedMs, outcome) => {
      world.storeAheadMs = -3_600_000;
      await world.startAll();
      const orderedAtMs = world.clock.now() - 3_600_000 - waitedMs;
      await world.build({ deadlineAtMs: orderedAtMs + 20_000, timeLeftMs: 20_000 });
      await world.clock.advance(5_000);
      expect(world.outcomes()).toEqual([outcome]);
    },
  );

  it("goes by the store's clock before any report was answered: the grant of its host says it", async () => {
    world.storeAheadMs = -3_600_000;
    world.onStats = async () => {
      throw new BerthError('unavailable', 'store_away', 'no report is taken');
    };
    const starting = world.startAll();
    await world.clock.advance(1_000);
    await world.build({ deadlineAtMs: world.clock.now() - 3_600_000 - 60_000, timeLeftMs: 20_000 });
    await world.clock.advance(5_000);
    expect(world.outcomes()).toEqual(['1 refused deadline_passed']);
    world.onStats = async () => {};
    await world.clock.advance(60_000);
    await starting;
  });

  it('begins what is ordered again only when nothing is left of what was refused', async () => {
    const done: string[] = [];
    let letGo = () => {};
    world.onOpenDriver = (driver) =>
      Object.assign(driver, {
        carriesOn: true,
        build: async () => void done.push('build'),
        destroy: async () => {
          await new Promise<void>((resolve) => {
            letGo = resolve;
          });
          done.push('destroy');
        },
      });
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, deadlineAtMs: world.clock.now() });
    await world.build({ instanceUuid, claimToken: 9 });
    await world.settle();
    expect([done, world.outcomes()]).toEqual([[], []]);
    letGo();
    await world.results.has(2);
    expect([done, world.outcomes()]).toEqual([
      ['destroy', 'build'],
      ['1 refused deadline_passed', '1 active'],
    ]);
  });

  it('gives up a build at its deadline', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '60000' });
    await world.build({ deadlineAtMs: world.clock.now() + 5_000 });
    await world.clock.advance(4_999);
    expect(world.outcomes()).toEqual([]);
    await world.clock.advance(1);
    expect(world.outcomes()).toEqual(['1 failed deadline_passed']);
    expect(await world.driver?.list()).toEqual([]);
  });

  it('goes by the time that is left, whatever its own clock says or becomes', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '60000' });
    const anHourBehind = world.clock.now() - 3_600_000;
    await world.build({ deadlineAtMs: anHourBehind + 5_000, timeLeftMs: 5_000 });
    await world.clock.advance(1_000);
    world.clock.jump(3_600_000);
    await world.clock.advance(3_999);
    expect(world.outcomes()).toEqual([]);
    world.clock.jump(-7_200_000);
    await world.clock.advance(1);
    expect(world.outcomes()).toEqual(['1 failed deadline_passed']);
  });

  it('builds at most max builds at once, and holds resources for those in line', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '100', MAX_BUILDS: '2', INVENTORY: 'VCPU=3,MEMORY_MB=65536' });
    for (let n = 0; n < 4; n++) await world.build();
    await world.clock.advance(100);
    expect(world.outcomes()).toEqual(['1 refused insufficient_vcpu', '1 active', '1 active']);
    await world.clock.advance(100);
    expect(world.outcomes().at(-1)).toBe('1 active');
    expect(world.outcomes()).toHaveLength(4);
  });

  it('dead-letters what it can not decode', async () => {
    await world.startAll();
    await world.bus.cast(world.orderQueue, { type: 'berth.compute.v1.BuildInstance', body: Uint8Array.of(255) });
    await world.bus.cast(world.orderQueue, { type: 'berth.compute.v1.Unheard', body: Uint8Array.of() });
    await world.settle();
    expect(await world.bus.depth(DEAD_LETTERS)).toBe(2);
  });
});

describe('the same instance again', () => {
  it('reports a running instance again without building it again', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    await world.build({ instanceUuid });
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 active', '1 active']);
    expect(await world.driver?.list()).toHaveLength(1);
  });

  it('waits for a build that is under way rather than build twice', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '100' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.build({ instanceUuid });
    await world.clock.advance(100);
    expect(world.outcomes()).toEqual(['1 active', '1 active']);
    expect(await metric('berth_agent_builds_total{outcome="active"}')).toBe(1);
  });

  it('makes a running instance that of a newer attempt', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 1 });
    await world.results.has(1);
    await world.build({ instanceUuid, attempt: 3, claimToken: 9 });
    await world.results.has(2);
    await world.destroy({ instanceUuid, attempt: 2 });
    await world.results.has(3);
    expect(world.outcomes()).toEqual(['1 active', '3 active', '2 destroyed destroyed']);
    expect(await world.driver?.list()).toHaveLength(1);
  });

  it('gives a build under way the time of the newer attempt', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '1000' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 1, deadlineAtMs: world.clock.now() + 500 });
    await world.build({ instanceUuid, attempt: 2, deadlineAtMs: world.clock.now() + 2_000 });
    await world.clock.advance(1_000);
    expect(world.outcomes()).toEqual(['1 active', '2 active']);
  });

  it('ignores an attempt older than the one that it knows', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 2 });
    await world.build({ instanceUuid, attempt: 1 });
    await world.settle();
    expect(world.outcomes()).toEqual(['2 active']);
  });
});

describe('instance claim', () => {
  it('refuses what does not fit by its own truth, whatever was claimed', async () => {
    await world.startAll({ INVENTORY: 'VCPU=4*1.5,MEMORY_MB=8192-4096', FAKE_EXTERNAL: 'MEMORY_MB=2048' });
    const asked = [{ VCPU: 6, MEMORY_MB: 1_024 }, { VCPU: 1 }, { MEMORY_MB: 1_025 }, { MEMORY_MB: 1_024 }];
    for (const [n, resources] of asked.entries()) {
      await world.build({ requestSpec: aRequestSpec({ resources }) });
      await world.results.has(n + 1);
    }
    expect(world.outcomes()).toEqual([
      '1 active',
      '1 refused insufficient_vcpu',
      '1 refused insufficient_memory_mb',
      '1 active',
    ]);
  });

  it('refuses what does not fit beside what runs there now, though nobody has heard of that yet', async () => {
    await world.startAll({ INVENTORY: 'VCPU=4', LOOK_INTERVAL_MS: '3600000' });
    world.driver?.setExternal({ VCPU: 4 });
    await world.build({ requestSpec: aRequestSpec({ resources: { VCPU: 1 } }) });
    await world.results.has(1);
    expect(world.outcomes()).toEqual(['1 refused insufficient_vcpu']);
  });

  it('releases resources after a destroy', async () => {
    await world.startAll({ INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    await world.destroy({ instanceUuid });
    await world.results.has(2);
    await world.build();
    await world.results.has(3);
    expect(world.outcomes()).toEqual(['1 active', '1 destroyed destroyed', '1 active']);
  });

  it('counts all that was claimed for a build on the provider that it was claimed on, until it is destroyed', async () => {
    await world.startAll({
      INVENTORY: 'MEMORY_MB=4096',
      PROVIDERS: 'numa0 VCPU=2; numa1 VCPU=2; numa1/gpu0 VGPU=1',
    });
    const stats = await world.stats.has(1);
    const rootUuid = stats[0]?.providerUuid ?? '';
    const on = (name: string) => nestedProviderUuid(rootUuid, name);
    const instanceUuid = randomUUID();
    // The GPU is preferred: the request does not require it.
    const allocations = { [on('numa1')]: { VCPU: 2 }, [on('gpu0')]: { VGPU: 1 } };
    await world.build({ instanceUuid, allocations, mappings: { '': [on('numa1')] } });
    await world.results.has(1);
    expect(world.driver?.built(instanceUuid)).toMatchObject({
      claimed: { numa1: { VCPU: 2 }, gpu0: { VGPU: 1 } },
      mappings: { '': ['numa1'] },
    });
    const others = [{ numa1: { VCPU: 1 } }, { gpu0: { VGPU: 1 } }, { numa0: { VCPU: 2 } }, { gpu1: { VGPU: 1 } }];
    for (const [n, claimed] of others.entries()) {
      const [name = '', resources = {}] = Object.entries(claimed)[0] ?? [];
      await world.build({ allocations: { [on(name)]: resources } });
      await world.results.has(n + 2);
    }
    await world.destroy({ instanceUuid });
    await world.results.has(6);
    await world.build({ allocations });
    await world.results.has(7);
    expect(world.outcomes()).toEqual([
      '1 active',
      '1 refused insufficient_vcpu',
      '1 refused insufficient_vgpu',
      '1 active',
      '1 refused provider_gone',
      '1 destroyed destroyed',
      '1 active',
    ]);
  });

  it('holds nothing for a build that it refused', async () => {
    await world.startAll({ INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
    await world.build({ requestSpec: aRequestSpec({ resources: { VCPU: 2 } }) });
    await world.results.has(1);
    await world.build();
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 refused insufficient_vcpu', '1 active']);
  });
});

describe('destroying', () => {
  it('leaves alone what is here by a later claim or attempt, and says by which', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 3, claimToken: 9 });
    await world.results.has(1);
    await world.destroy({ instanceUuid, claimToken: 8 });
    await world.destroy({ instanceUuid, attempt: 2 });
    await world.results.has(3);
    await world.destroy({ instanceUuid, claimToken: 9 });
    await world.results.has(4);
    const said = world.results.items.map(({ outcome, keptClaimToken }) => `${outcome} ${keptClaimToken}`);
    expect(said).toEqual(['active 0', 'destroyed 9', 'destroyed 9', 'destroyed 0']);
    expect(await world.driver?.list()).toEqual([]);
  });

  it('is done when there is nothing to destroy, and reports only when asked', async () => {
    await world.startAll();
    await world.destroy({ instanceUuid: randomUUID(), attempt: 4 });
    await world.destroy({ instanceUuid: randomUUID(), report: false });
    await world.settle();
    expect(world.outcomes()).toEqual(['4 destroyed destroyed']);
  });

  it('cancels a build under way, and one that waits in line', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '10000', MAX_BUILDS: '1' });
    const [going, waiting] = [randomUUID(), randomUUID()];
    await world.build({ instanceUuid: going });
    await world.build({ instanceUuid: waiting });
    await world.destroy({ instanceUuid: waiting, report: false });
    await world.destroy({ instanceUuid: going, report: false });
    await world.settle();
    expect(world.outcomes()).toEqual(['1 destroyed destroyed', '1 destroyed destroyed']);
    await world.clock.advance(20_000);
    expect(await world.driver?.list()).toEqual([]);
  });

  it('is settled after the build that it cancelled, so that no crash leaves that build alone to come again', async () => {
    await world.startAll({ FAKE_LATENCY_MS: '10000' });
    // oxlint-disable-next-line typescript/unbound-method -- called with the bus that it is a method of
    const { cast } = MemoryBus.prototype;
    const reports = gate();
    let inHand = () => 0;
    const spy = jest.spyOn(MemoryBus.prototype, 'cast').mockImplementation(async function slow(
      this: MemoryBus,
      ...args
    ) {
      if (queueName(args[0]) === BUILD_RESULTS.name) {
        inHand = () => this.inHand;
        await reports.promise;
      }
      return cast.apply(this, args);
    });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.destroy({ instanceUuid, report: false });
    await world.settle();
    expect(inHand()).toBe(2);
    reports.resolve();
    await world.results.has(1);
    await world.settle();
    expect(inHand()).toBe(0);
    spy.mockRestore();
  });

  it('does not build what was destroyed before it could be built, but a newer attempt of it', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.destroy({ instanceUuid, attempt: 1, report: false });
    await world.build({ instanceUuid, attempt: 1 });
    await world.build({ instanceUuid, attempt: 2 });
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 destroyed destroyed', '2 active']);
  });

  it('retries until the driver has destroyed it', async () => {
    await world.startAll();
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    const { driver } = world;
    const destroy = driver?.destroy.bind(driver);
    let failures = 0;
    Object.assign(driver ?? {}, {
      destroy: async (uuid: string) => {
        if (failures++ < 2) throw new Error('busy');
        await destroy?.(uuid);
      },
    });
    await world.destroy({ instanceUuid });
    await world.clock.advance(1_000);
    expect(world.outcomes()).toEqual(['1 active', '1 destroyed destroyed']);
    expect(await world.driver?.list()).toEqual([]);
  });
});

describe('an instance that stops by itself', () => {
  it('is reported lost, and its resources are free', async () => {
    await world.startAll({ INVENTORY: 'VCPU=1,MEMORY_MB=1024' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    world.driver?.exit(instanceUuid, 'exit code 1');
    const [, lost] = await world.results.has(2);
    expect(lost).toMatchObject({
      instanceUuid,
      outcome: 'lost',
      reason: 'exited',
      message: 'exit code 1',
      claimToken: 7,
    });
    await world.build();
    await world.results.has(3);
    expect(world.outcomes().at(-1)).toBe('1 active');
  });

  it('is reported lost after it is reported built, when it stops before that is on record', async () => {
    await world.startAll();
    const { driver } = world;
    const build = driver?.build.bind(driver);
    Object.assign(driver ?? {}, {
      build: async (...args: Parameters<NonNullable<typeof driver>['build']>) => {
        await build?.(...args);
        driver?.exit(args[0].uuid, 'exit code 1');
      },
    });
    await world.build();
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 active', '1 lost exited']);
    const [active, lost] = world.results.items.map(({ position }) => position);
    expect(lost).toBeGreaterThan(active ?? 0);
  });
});

async function metric(line: string): Promise<number> {
  const text = await world.metrics.expose();
  return Number(
    text
      .split('\n')
      .find((one) => one.startsWith(line))
      ?.slice(line.length),
  );
}

function gate() {
  let resolve = () => {};
  const promise = new Promise<void>((opened) => {
    resolve = opened;
  });
  return { promise, resolve: () => resolve() };
}
