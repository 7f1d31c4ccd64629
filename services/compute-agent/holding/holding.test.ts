import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import type { Running } from '#libs/runtime/service';
import { trackedInstance } from '../host/build-order';
import { openJournal } from '../host/journal';
import { AgentWorld, anOrder } from '../testing/agent-world';

let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

const REPORT_MS = 10_000;
const LEASE_MS = 3 * REPORT_MS;
const SETTINGS = { REPORT_INTERVAL_MS: String(REPORT_MS), REPORT_JITTER: '0', REPORT_MIN_INTERVAL_MS: '1000' };

/** Gives the host to another run for some time. */
function anotherRunHolds(host: string, forMs: number): void {
  const epoch = (world.holders.get(host)?.epoch ?? 0) + 1;
  world.holders.set(host, { epoch, run: 'another', untilMs: world.clock.now() + forMs });
}

/** Starts an agent that does not get its host at once. */
async function startWaiting(settings: Readonly<Record<string, string>> = {}): Promise<Running> {
  await world.serveStats();
  await world.takeResults();
  const starting = world.start({ ...SETTINGS, REPORT_TIMEOUT_MS: '500', ...settings });
  while (world.acquisitions.length === 0) await world.settle();
  await world.clock.advance(500);
  return starting;
}

const refuseReports = (reason: string) => {
  world.onStats = async () => {
    throw new BerthError('failed_precondition', reason, 'no');
  };
};
const acceptReports = () => {
  world.onStats = async () => {};
};

describe('a host that another run holds', () => {
  it('is not reported and takes no orders, until the lease of that run has run out', async () => {
    anotherRunHolds('h1', 25_000);
    const agent = await startWaiting();
    expect(agent.readiness()).toEqual({ ready: false, reason: '0 of 1 host held' });
    await world.clock.advance(24_000);
    expect([world.stats.items, world.acquisitions.length]).toEqual([[], 1]);
    await world.clock.advance(2_000);
    expect(agent.readiness()).toEqual({ ready: true });
    expect(world.stats.items[0]).toMatchObject({ host: 'h1', epoch: 2, position: 1 });
    await world.build();
    await world.results.has(1);
  });

  it('keeps what that run is building: its journal is not touched', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
    const folder = join(stateDir, 'h1', 'journal');
    await (await openJournal(folder)).put(trackedInstance(anOrder(), 'building'));
    anotherRunHolds('h1', 5_000);
    await startWaiting({ STATE_DIR: stateDir });
    expect(readdirSync(folder)).toHaveLength(1);
    await world.clock.advance(6_000);
    while (world.stats.items.length === 0) await world.settle();
    expect(readdirSync(folder)).toHaveLength(0);
    rmSync(stateDir, { recursive: true });
  });

  it('is asked for in one call with all others, and only it waits', async () => {
    anotherRunHolds('h1-0007', 20_000);
    const agent = await startWaiting({ HOSTS: '1000' });
    expect(world.acquisitions.map((hosts) => hosts.length)).toEqual([1_000]);
    expect(agent.readiness()).toEqual({ ready: false, reason: '999 of 1000 hosts held' });
    expect(new Set(world.stats.items.map(({ host }) => host)).size).toBe(999);
    await world.clock.advance(20_000);
    expect(world.acquisitions.at(-1)).toEqual(['h1-0007']);
    expect(agent.readiness()).toEqual({ ready: true });
  });

  it('is given back when a process ends, so that the next need not wait', async () => {
    const first = await world.startAll(SETTINGS);
    const closing = first.close();
    await world.clock.advance(1_000);
    await closing;
    expect(world.released).toEqual(['h1']);
    expect((await world.start(SETTINGS)).readiness()).toEqual({ ready: true });
  });
});

describe('a host that another run took over', () => {
  it('takes no orders, hands back what is being built, and keeps what runs', async () => {
    const agent = await world.startAll({ ...SETTINGS, FAKE_LATENCY_MS: '100' });
    await world.build();
    await world.clock.advance(200);
    expect(world.outcomes()).toEqual(['1 active']);
    anotherRunHolds('h1', 60_000);
    refuseReports('epoch_superseded');
    await world.clock.advance(REPORT_MS - 250);
    await world.build();
    await world.clock.advance(150);
    expect(agent.readiness()).toEqual({ ready: false, reason: '0 of 1 host held' });
    await world.build();
    await world.clock.advance(30_000);
    expect(world.outcomes()).toEqual(['1 active']);
    expect(await world.driver?.list()).toHaveLength(1);
    expect(await world.bus.depth(world.orderQueue)).toBe(2);
  });

  it('is asked for again, and goes on with a new epoch when that run is gone', async () => {
    await world.startAll(SETTINGS);
    await world.build();
    await world.results.has(1);
    anotherRunHolds('h1', 60_000);
    refuseReports('epoch_superseded');
    await world.clock.advance(2 * REPORT_MS);
    acceptReports();
    await world.clock.advance(60_000);
    const last = world.stats.items.at(-1);
    expect(last).toMatchObject({ epoch: 3, instances: [{ running: true }] });
    await world.build();
    await world.clock.advance(1_000);
    expect(world.outcomes()).toEqual(['1 active', '1 active']);
  });

  it('is known by an order of a later epoch, which is handed back', async () => {
    await world.startAll(SETTINGS);
    anotherRunHolds('h1', 60_000);
    await world.build({ epoch: 2 });
    await world.clock.advance(5_000);
    expect([world.outcomes(), await world.bus.depth(world.orderQueue)]).toEqual([[], 1]);
  });

  it('takes an order of a later epoch that the store, asked about it, has forgotten', async () => {
    await world.startAll(SETTINGS);
    await world.build({ epoch: 2 });
    await world.clock.advance(5_000);
    expect([world.outcomes(), world.acquisitions.length]).toEqual([['1 active'], 2]);
    await world.clock.advance(REPORT_MS);
    expect(world.stats.items.at(-1)).toMatchObject({ epoch: 1, instances: [{ running: true }] });
  });

  it('takes orders of its own epoch, of an earlier one, and of none', async () => {
    anotherRunHolds('h1', 0);
    await world.startAll(SETTINGS);
    for (const epoch of [0, 1, 2]) await world.build({ epoch });
    await world.results.has(3);
    expect(world.outcomes()).toEqual(['1 active', '1 active', '1 active']);
  });
});

describe('a lease', () => {
  it('that may have run out holds orders back until a report is accepted', async () => {
    await world.startAll(SETTINGS);
    world.onStats = async () => {
      throw new BerthError('unavailable', 'store_away', 'not now');
    };
    await world.clock.advance(LEASE_MS + REPORT_MS);
    await world.build();
    await world.clock.advance(5_000);
    expect(world.outcomes()).toEqual([]);
    acceptReports();
    await world.clock.advance(10_000);
    expect(world.outcomes()).toEqual(['1 active']);
  });

  it('that the store has forgotten is taken anew, while builds go on', async () => {
    await world.startAll({ ...SETTINGS, FAKE_LATENCY_MS: '15000' });
    await world.build();
    world.holders.clear();
    refuseReports('epoch_unknown');
    await world.clock.advance(REPORT_MS);
    acceptReports();
    await world.clock.advance(REPORT_MS);
    expect(world.outcomes()).toEqual(['1 active']);
    expect(world.stats.items.at(-1)?.epoch).toBe(1);
  });
});

describe('a store that has forgotten one host', () => {
  it('has forgotten all: every host is asked for, and reported, at once', async () => {
    await world.startAll({ ...SETTINGS, HOST: 'rack', HOSTS: '3' });
    await world.stats.has(3);
    await world.clock.advance(2 * REPORT_MS);
    world.holders.clear();
    const before = world.stats.items.length;
    const refused: string[] = [];
    world.onStats = async () => {
      if (refused.length > 0) return;
      refused.push('epoch_unknown');
      throw new BerthError('failed_precondition', 'epoch_unknown', 'no');
    };
    while (refused.length === 0) await world.clock.advance(100);
    await world.clock.advance(1_000);
    expect(world.acquisitions.at(-1)).toEqual(['rack-1', 'rack-2', 'rack-3']);
    expect(new Set(world.stats.items.slice(before).map(({ host }) => host)).size).toBe(3);
  });
});

it('goes on without an epoch while schedulers know of none', async () => {
  world.isOldScheduler = true;
  const agent = await world.startAll(SETTINGS);
  expect(agent.readiness()).toEqual({ ready: true });
  await world.build();
  await world.results.has(1);
  expect([world.stats.items[0]?.epoch, world.results.items[0]?.epoch]).toEqual([0, 0]);
});

describe('what an agent says of a host', () => {
  it('has positions that rise, over reports and build reports', async () => {
    await world.startAll(SETTINGS);
    for (let n = 0; n < 3; n++) {
      await world.build();
      await world.clock.advance(REPORT_MS);
    }
    const said = [...world.stats.items, ...world.results.items].map(({ epoch, position }) => ({ epoch, position }));
    expect(new Set(said.map(({ position }) => position)).size).toBe(said.length);
    expect(said.every(({ epoch }) => epoch === 1)).toBe(true);
    const [build] = world.results.items;
    const after = world.stats.items.find(({ instances }) => instances.some(({ running }) => running));
    expect(build?.position).toBeLessThan(after?.position ?? 0);
  });

  it('has allocation requests when the answer before asked for them, and first for a store that is new', async () => {
    await world.startAll(SETTINGS);
    await world.build({ allocationRequest: Uint8Array.of(4, 5) });
    await world.results.has(1);
    await world.clock.advance(REPORT_MS);
    const shown = () => Array.from(world.stats.items.at(-1)?.instances[0]?.allocationRequest ?? []);
    expect(shown()).toEqual([]);
    world.wantsAllocationRequests = true;
    await world.clock.advance(2 * REPORT_MS);
    expect(shown()).toEqual([4, 5]);
    world.wantsAllocationRequests = false;
    await world.clock.advance(2 * REPORT_MS);
    expect(shown()).toEqual([]);
    world.holders.clear();
    refuseReports('epoch_unknown');
    await world.clock.advance(REPORT_MS);
    const before = world.stats.items.length;
    acceptReports();
    await world.clock.advance(REPORT_MS);
    expect(world.stats.items[before]?.instances[0]?.allocationRequest.length).toBe(2);
  });

  it('has none in the first after orders were not taken for a while', async () => {
    await world.startAll(SETTINGS);
    await world.build({ allocationRequest: Uint8Array.of(4, 5) });
    await world.results.has(1);
    world.wantsAllocationRequests = true;
    refuseReports('unavailable');
    await world.clock.advance(LEASE_MS + REPORT_MS);
    world.holders.clear();
    refuseReports('epoch_unknown');
    await world.clock.advance(REPORT_MS);
    const before = world.stats.items.length;
    acceptReports();
    await world.clock.advance(REPORT_MS);
    const shown = world.stats.items
      .slice(before, before + 2)
      .map(({ instances: [one] }) => one?.allocationRequest.length);
    expect(shown).toEqual([0, 2]);
  });

  it('has none in the first after a start', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
    await (await openJournal(join(stateDir, 'h1', 'journal'))).put(trackedInstance(anOrder(), 'running'));
    world.wantsAllocationRequests = true;
    await world.startAll({ ...SETTINGS, STATE_DIR: stateDir });
    await world.clock.advance(REPORT_MS);
    const shown = world.stats.items.slice(0, 2).map(({ instances: [one] }) => one?.allocationRequest.length);
    expect(shown).toEqual([0, 3]);
    rmSync(stateDir, { recursive: true });
  });
});

const HOUR_MS = 3_600_000;

describe('an order for an earlier instance of the same uuid', () => {
  it.each([
    ['a destroy', 0],
    ['a destroy, an hour late', HOUR_MS],
  ])('%s leaves the present one', async (_, afterMs) => {
    await world.startAll(SETTINGS);
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, claimToken: 20 });
    await world.results.has(1);
    await world.clock.advance(afterMs);
    for (let times = 0; times < 2; times++) await world.destroy({ instanceUuid, claimToken: 10, report: false });
    await world.clock.advance(1_000);
    expect(await world.driver?.list()).toHaveLength(1);
  });

  it('a destroy before its build does not forbid it', async () => {
    await world.startAll(SETTINGS);
    const instanceUuid = randomUUID();
    await world.destroy({ instanceUuid, claimToken: 10, report: false });
    await world.build({ instanceUuid, claimToken: 20 });
    await world.results.has(1);
    expect(world.outcomes()).toEqual(['1 active']);
  });

  it('a build does not become the present one', async () => {
    await world.startAll(SETTINGS);
    const instanceUuid = randomUUID();
    await world.build({ instanceUuid, claimToken: 20 });
    await world.results.has(1);
    await world.build({ instanceUuid, claimToken: 10 });
    await world.clock.advance(1_000);
    expect(world.outcomes()).toEqual(['1 active']);
    await world.destroy({ instanceUuid, claimToken: 20 });
    await world.results.has(2);
    expect(await world.driver?.list()).toEqual([]);
  });
});
