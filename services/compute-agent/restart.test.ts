import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEAD_LETTERS } from '#libs/bus/port';
import { BerthError } from '#libs/domain/errors';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { Running } from '#libs/runtime/service';
import { trackedInstance } from './host/build-order';
import { openJournal } from './host/journal';
import { AgentWorld, anOrder } from './testing/agent-world';

let world: AgentWorld;
let stateDir: string;

beforeEach(() => {
  world = new AgentWorld();
  stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
});

afterEach(async () => {
  await world.close();
  // An order that is settled as the agent closes may write yet.
  await rm(stateDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 });
});

const journalFolder = () => join(stateDir, 'h1', 'journal');
const isEnded = (file: string) => file.endsWith('.lost.json');
const journalled = () => readdirSync(journalFolder()).filter((file) => !isEnded(file));
const journalledAsEnded = () => readdirSync(journalFolder()).filter(isEnded);

async function close(agent: Running, afterMs = 100): Promise<void> {
  const closing = agent.close();
  await world.clock.advance(afterMs);
  await closing;
}

describe('the journal', () => {
  it('lets an agent adopt its instances, with their attempts and what they hold', async () => {
    const settings = { STATE_DIR: stateDir, INVENTORY: 'VCPU=1,MEMORY_MB=4096' };
    const first = await world.startAll(settings);
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, attempt: 2 });
    await world.results.has(1);
    await close(first);
    await world.start(settings);
    expect(world.stats.items.at(-1)?.instances).toMatchObject([{ instanceUuid, running: true }]);
    await world.build({ instanceUuid, attempt: 2 });
    await world.results.has(2);
    await world.build();
    await world.results.has(3);
    expect(world.outcomes()).toEqual(['2 active', '2 active', '1 refused insufficient_vcpu']);
  });

  it.each([
    ['cold', 'is stopped by then', 'shutdown'],
    ['cold', 'is not stopped yet', 'shutdown'],
    ['live', 'is stopped by then', 'shutdown'],
    ['live', 'is not stopped yet', undefined],
  ] as const)('keeps what an agent that died was handing over %s, where it %s', async (kind, isStopped, powerState) => {
    const instanceUuid = randomUUID();
    const file = join(stateDir, 'h1', 'journal', `${instanceUuid}.json`);
    const settings = { STATE_DIR: stateDir };
    let journalledThen = '';
    world.onOpenDriver = ({ moves }) => {
      const handOver = async () => {
        journalledThen = readFileSync(file, 'utf8');
        throw new BerthError('internal', 'died', 'the agent dies now');
      };
      Object.assign(moves ?? {}, { handOver });
    };
    const first = await world.startAll(settings);
    await world.build({ instanceUuid });
    await world.results.has(1);
    const migrationUuid = migrationUuidOf(instanceUuid);
    await world.setPowerState({ instanceUuid, powerState: 'shutdown', migrationUuid, live: kind === 'live' });
    await world.powerReports.has(1);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ state: 'running' });
    await close(first);
    writeFileSync(file, journalledThen);
    await world.start(settings, isStopped === 'is stopped by then' ? [] : [instanceUuid]);
    const { instances = [] } = world.stats.items.at(-1) ?? {};
    expect(instances.map((one) => [one.instanceUuid, one.powerState])).toEqual([[instanceUuid, powerState]]);
    expect(world.outcomes()).toEqual(['1 active']);
  });

  it('knows after a restart that an operator disabled the host, though the store has forgotten it', async () => {
    const settings = { STATE_DIR: stateDir, REPORT_INTERVAL_MS: '10000' };
    world.disabled = { reason: 'new disks' };
    await close(await world.startAll(settings));
    world.disabled = undefined;
    const before = world.stats.items.length;
    await close(await world.start(settings));
    expect(world.stats.items[before]?.disabled).toEqual({ reason: 'new disks' });
    await world.start(settings);
    expect(world.stats.items.at(-1)?.disabled).toBeUndefined();
  });

  it('takes 200 copies of one order at once, buries none, and journals the attempt', async () => {
    await world.startAll({ STATE_DIR: stateDir, PREFETCH: '200' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    await Promise.all(Array.from({ length: 200 }, () => world.build({ instanceUuid, attempt: 2 })));
    await world.results.has(201);
    expect(await world.bus.depth(DEAD_LETTERS)).toBe(0);
    expect(await (await openJournal(journalFolder())).load()).toMatchObject([{ uuid: instanceUuid, attempt: 2 }]);
    expect(journalled()).toEqual([`${instanceUuid}.json`]);
  });

  it('keeps an instance whose entry is half a file, says so, and goes on with it when its order comes again', async () => {
    const settings = { STATE_DIR: stateDir };
    const first = await world.startAll(settings);
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    await close(first);
    writeFileSync(join(journalFolder(), `${instanceUuid}.json`), '{"uuid":"');
    await world.start(settings, [instanceUuid]);
    expect(world.stats.items.at(-1)).toMatchObject({
      instances: [{ instanceUuid, unreadable: true, running: false }],
      externalInstances: 0,
    });
    await world.build({ instanceUuid });
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 active', '1 active']);
    expect(journalled()).toEqual([`${instanceUuid}.json`]);
  });

  it.each([
    [{}, 'active'],
    [{ projectId: 'another' }, 'refused uuid_taken'],
  ])(
    'ends nothing that runs without an entry when its order comes again, the driver knowing %j',
    async (of, outcome) => {
      const instanceUuid = randomUUID();
      await close(await world.startAll({ STATE_DIR: stateDir }));
      const build = jest.fn();
      world.onOpenDriver = (driver) => {
        const list = driver.list.bind(driver);
        Object.assign(driver, { build, list: async () => (await list()).map((one) => ({ ...one, ...of })) });
      };
      await world.start({ STATE_DIR: stateDir }, [instanceUuid]);
      await world.build({ instanceUuid });
      await world.results.has(1);
      expect(world.outcomes()).toEqual([`1 ${outcome}`]);
      expect(build).not.toHaveBeenCalled();
    },
  );

  it('forgets an instance whose entry is half a file once it is destroyed', async () => {
    const settings = { STATE_DIR: stateDir };
    await close(await world.startAll(settings));
    const instanceUuid = randomUUID();
    writeFileSync(join(journalFolder(), `${instanceUuid}.json`), '');
    await world.start(settings, [instanceUuid]);
    await world.destroy({ instanceUuid });
    await world.results.has(1);
    expect(journalled()).toEqual([]);
    await world.clock.advance(60_000);
    expect(world.stats.items.at(-1)?.instances).toEqual([]);
  });

  it('counts after a restart what each instance holds of each provider, and says so', async () => {
    const settings = { STATE_DIR: stateDir, INVENTORY: 'MEMORY_MB=4096', PROVIDERS: 'numa0 VCPU=2; numa1 VCPU=2' };
    const first = await world.startAll(settings);
    const [{ providerUuid } = { providerUuid: '' }] = await world.stats.has(1);
    const allocations = { [nestedProviderUuid(providerUuid, 'numa1')]: { VCPU: 2 } };
    await world.build({ allocations });
    await world.results.has(1);
    await first.close();
    await world.start(settings);
    await world.build({ allocations });
    await world.results.has(2);
    expect(world.outcomes()).toEqual(['1 active', '1 refused insufficient_vcpu']);
    expect(world.stats.items.at(-1)).toMatchObject({
      instances: [{ allocations }],
      nestedProviders: [{ name: 'numa0' }, { name: 'numa1' }],
    });
  });

  it('keeps free on nested providers what instances of a flat host go on using, once it has some', async () => {
    const journal = await openJournal(journalFolder());
    const { allocations: _unknown, ...before } = trackedInstance(anOrder(), 'running');
    await journal.put({ ...before, resources: { VCPU: 3, MEMORY_MB: 1_024 } });
    await world.startAll({ STATE_DIR: stateDir, INVENTORY: 'MEMORY_MB=4096', PROVIDERS: 'numa0 VCPU=2; numa1 VCPU=2' });
    const [stats] = await world.stats.has(1);
    expect(stats?.externalUsage).toEqual({});
    expect(stats?.nestedProviders.map(({ externalUsage }) => externalUsage)).toEqual([{ VCPU: 2 }, { VCPU: 1 }]);
  });

  it('drops what is destroyed', async () => {
    await world.startAll({ STATE_DIR: stateDir });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    expect(journalled()).toEqual([`${instanceUuid}.json`]);
    await world.destroy({ instanceUuid });
    await world.results.has(2);
    expect(journalled()).toEqual([]);
  });

  it('destroys what was half built, as its order is redelivered', async () => {
    const half = trackedInstance(anOrder(), 'building');
    await (await openJournal(journalFolder())).put(half);
    await world.startAll({ STATE_DIR: stateDir });
    expect(journalled()).toEqual([]);
    expect(world.stats.items[0]?.instances).toEqual([]);
  });

  it('reports what is gone as lost, and journals it until that is reported', async () => {
    const gone = trackedInstance(anOrder({ attempt: 3, claimToken: 12 }), 'running');
    const journal = await openJournal(journalFolder());
    await journal.put(gone);
    await world.takeResults();
    await world.serveStats();
    await world.start({ STATE_DIR: stateDir }, []);
    const [lost] = await world.results.has(1);
    expect(lost).toMatchObject({ instanceUuid: gone.uuid, attempt: 3, outcome: 'lost', claimToken: 12 });
    while (journalled().length > 0) await world.settle();
  });

  it('answers an order again as it did before a restart, when its build had failed', async () => {
    const first = await world.startAll({ STATE_DIR: stateDir, FAKE_FAILURE_RATE: '1' });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    await close(first);
    expect(journalledAsEnded()).toEqual([`${instanceUuid}.lost.json`]);
    await world.start({ STATE_DIR: stateDir });
    await world.build({ instanceUuid });
    await world.results.has(2);
    expect(new Set(world.outcomes())).toEqual(new Set(['1 failed fake_failure']));
    await world.clock.advance(600_000);
    while (journalledAsEnded().length > 0) await world.settle();
  });

  it('builds nothing by an order that comes again after what it built was lost and the agent was started again', async () => {
    const first = await world.startAll({ STATE_DIR: stateDir });
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid });
    await world.results.has(1);
    (world.driver as { exit(uuid: string, why: string): void }).exit(instanceUuid, 'exit code 1');
    await world.results.has(2);
    await close(first);
    await world.start({ STATE_DIR: stateDir });
    await world.build({ instanceUuid });
    await world.results.has(3);
    expect(world.outcomes()).toEqual(['1 active', '1 lost exited', '1 destroyed destroyed']);
    expect(journalledAsEnded()).toHaveLength(1);
    await world.clock.advance(601_000);
    while (journalledAsEnded().length > 0) await world.settle();
  });

  it('builds nothing by a copy of an order after its instance was destroyed and the agent was started again', async () => {
    const first = await world.startAll({ STATE_DIR: stateDir });
    const [instanceUuid, unseen] = [randomUUID(), randomUUID()];
    const deadlineAtMs = world.clock.now() + 3_600_000;
    await world.build({ instanceUuid, deadlineAtMs });
    await world.results.has(1);
    await world.destroy({ instanceUuid });
    await world.destroy({ instanceUuid: unseen });
    await world.results.has(3);
    await close(first);
    await world.start({ STATE_DIR: stateDir });
    await world.build({ instanceUuid, deadlineAtMs });
    await world.build({ instanceUuid: unseen });
    await world.results.has(5);
    expect(world.outcomes()).toEqual(['1 active', ...Array(4).fill(expect.stringMatching('destroyed destroyed'))]);
    await world.clock.advance(601_000);
    while (journalledAsEnded().length > 1) await world.settle();
    await world.clock.advance(3_000_000);
    while (journalledAsEnded().length > 0) await world.settle();
  });

  it('reports an instance as lost, once, that stops while the agent looks for it', async () => {
    const instance = trackedInstance(anOrder(), 'running');
    await (await openJournal(journalFolder())).put(instance);
    world.onOpenDriver = (driver) => {
      const list = driver.list.bind(driver);
      Object.assign(driver, {
        async list() {
          const workloads = await list();
          driver.exit(instance.uuid, 'exit code 1');
          return workloads;
        },
      });
    };
    await world.startAll({ STATE_DIR: stateDir });
    await world.results.has(1);
    while (journalled().length > 0) await world.settle();
    expect(world.outcomes()).toEqual(['1 lost exited']);
    expect(world.stats.items[0]?.instances).toEqual([]);
  });
});

describe('draining', () => {
  it('finishes what is being built, and hands back what waits in line', async () => {
    const agent = await world.startAll({ FAKE_LATENCY_MS: '1000', MAX_BUILDS: '1', DRAIN_TIMEOUT_MS: '5000' });
    const [going, waiting] = [randomUUID(), randomUUID()];
    await world.build({ instanceUuid: going });
    await world.build({ instanceUuid: waiting });
    await world.settle();
    await close(agent, 1_100);
    expect(world.results.items.map(({ instanceUuid, outcome }) => [instanceUuid, outcome])).toEqual([
      [going, 'active'],
    ]);
    expect(await world.bus.depth(world.orderQueue)).toBe(1);
    await world.start();
    await world.results.has(2);
    expect(world.results.items[1]).toMatchObject({ instanceUuid: waiting, outcome: 'active' });
  });

  it('hands back a build that takes longer than the drain may', async () => {
    const agent = await world.startAll({ FAKE_LATENCY_MS: '60000', DRAIN_TIMEOUT_MS: '2000' });
    await world.build();
    await world.settle();
    await close(agent, 2_100);
    expect(world.outcomes()).toEqual([]);
    expect(await world.driver?.list()).toEqual([]);
    expect(await world.bus.depth(world.orderQueue)).toBe(1);
    expect(world.stats.items.at(-1)?.instances).toEqual([]);
  });

  it('leaves what comes after in the queue', async () => {
    const agent = await world.startAll();
    await close(agent);
    await world.build();
    await world.settle();
    expect(await world.bus.depth(world.orderQueue)).toBe(1);
  });
});
