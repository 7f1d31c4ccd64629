import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import type { Method } from '#libs/contracts/codec';
import { type HostDiscrepancy, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { explainMethod } from '#libs/contracts/diagnosis';
import {
  type AcquireHostsRequest,
  acquireHostsMethod,
  type ReleaseHostsRequest,
  releaseHostsMethod,
} from '#libs/contracts/host-leases';
import {
  clearHostFailuresMethod,
  listHostsMethod,
  listOverAllocatedMethod,
  setHostEnabledMethod,
} from '#libs/contracts/hosts';
import { BUILD_RESULTS, RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { type UpdateResourceStatsRequest, updateResourceStatsMethod } from '#libs/contracts/stats';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics, type Metrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { fakeClock } from '#libs/testing/fake-clock';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { aFailure, aWrite, contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { schedulerOptions } from './options';
import { startScheduler } from './start';
import { aStatsReport, running } from './testing/stats';

const HOST_TIMEOUT_MS = 60_000;
const ROOT = 'a0000000-0000-4000-8000-000000000001';

let cell: Awaited<ReturnType<typeof aCell>>;
beforeEach(async () => {
  cell = await aCell();
});
afterEach(() => cell.close());

/** One scheduler with its bus, and a client. */
async function aCell(env: Readonly<Record<string, string>> = {}) {
  const clock = fakeClock();
  const around = (): { metrics: Metrics } & Omit<Parameters<typeof openBus>[1], 'metrics'> => ({
    clock,
    random: seededRandom(3),
    log: silentLog,
    metrics: createMetrics({}),
  });
  const broker = new MemoryBroker(clock, silentLog);
  const placement = new MemoryPlacementStore();
  const opened: { close(): Promise<void> }[] = [];
  const open = async <T extends { close(): Promise<void> }>(thing: Promise<T>): Promise<T> => {
    opened.push(await thing);
    return thing;
  };
  const client: Bus = await open(openBus({ busUrl: 'memory:' }, around(), broker));
  const bus = await open(openBus({ busUrl: 'memory:' }, around(), broker));
  const mirror = await open(Mirror.open(placement, { clock, random: seededRandom(3), log: silentLog }));
  const config = { ...readConfig(schedulerOptions, env), hostTimeoutMs: HOST_TIMEOUT_MS };
  const surroundings = around();
  const scheduler: Running = await open(startScheduler({ ...surroundings, bus, placement, mirror, config }));
  const discrepancies: HostDiscrepancy[] = [];
  await client.consume(BUILD_RESULTS, async ({ body }) => {
    discrepancies.push(hostDiscrepancyCodec.decode(body));
    return ACK;
  });
  return {
    clock,
    placement,
    scheduler,
    discrepancies,
    call: <Q, A>(method: Method<Q, A>, request: Q) =>
      callMethod({ bus: client, queue: RPC_SCHEDULER }, method, request, { timeoutMs: 5_000 }),
    as: (user: string) => open(openBus({ busUrl: `memory://${user}@broker` }, around(), broker)),
    report: (fields: Partial<UpdateResourceStatsRequest> = {}, from = client) =>
      callMethod({ bus: from, queue: STATS }, updateResourceStatsMethod, aStatsReport(fields), { timeoutMs: 5_000 }),
    /** So many reports at once, for which their sender waits long. */
    flood: (count: number) => {
      const options = { timeoutMs: HOST_TIMEOUT_MS * 10 };
      const one = () => callMethod({ bus: client, queue: STATS }, updateResourceStatsMethod, aStatsReport(), options);
      return Promise.allSettled(Array.from({ length: count }, one));
    },
    /** As a conductor notes it: all that a host said since the store began was worked on. */
    noteHeard: () => {
      const heard = { kind: 'note_heard', host: 'host-1', saidAfterMs: clock.now() + 1 } as const;
      return placement.commit({ ...heard, atMs: clock.now() });
    },
    acquire: (fields: Partial<AcquireHostsRequest> = {}, from = client) => {
      const request = { serviceHost: 'host-1', agentRun: 'run-1', hosts: ['host-1'], leaseMs: 60_000, ...fields };
      return callMethod({ bus: from, queue: STATS }, acquireHostsMethod, request, { timeoutMs: 5_000 });
    },
    release: (fields: Partial<ReleaseHostsRequest> = {}, from = client) => {
      const request = { serviceHost: 'host-1', agentRun: 'run-1', hosts: ['host-1'], ...fields };
      return callMethod({ bus: from, queue: STATS }, releaseHostsMethod, request, { timeoutMs: 5_000 });
    },
    metrics: () => surroundings.metrics.expose(),
    async close() {
      for (const thing of opened.toReversed()) await thing.close();
    },
  };
}

describe('rpc.scheduler', () => {
  it('selects a destination on a host that has just reported', async () => {
    await cell.report();
    const instanceUuids = [randomUUID()];
    const request = { requestId: randomUUID(), requestSpec: anEncodedSpec(), instanceUuids, numAlternates: 2 };
    const { destinations } = await cell.call(selectDestinationsMethod, request);
    expect(destinations.map(({ selected }) => selected.host)).toEqual(['host-1']);
    expect(await cell.metrics()).toContain('berth_scheduler_instances_total{outcome="selected"} 1');
  });

  it('counts what it has decided when nobody waits for it any more', async () => {
    await cell.report();
    const commit = cell.placement.commit.bind(cell.placement);
    jest.spyOn(cell.placement, 'commit').mockImplementation(async (command) => {
      await sleep(cell.clock, 6_000);
      return commit(command);
    });
    const request = { requestId: randomUUID(), requestSpec: anEncodedSpec(), instanceUuids: [randomUUID()] };
    const answer = cell
      .call(selectDestinationsMethod, { ...request, numAlternates: 0 })
      .catch((thrown: unknown) => BerthError.from(thrown));
    await cell.clock.advance(5_500);
    expect(await answer).toMatchObject({ code: 'deadline_exceeded' });
    await cell.clock.advance(1_000);
    expect(await cell.metrics()).toContain('berth_scheduler_instances_total{outcome="timed_out"} 1');
  });

  it('says why there is no valid host, and explains one by name', async () => {
    await cell.report();
    const requestSpec = anEncodedSpec({ resources: { VCPU: 99 }, requiredTraits: ['CUSTOM_FAST'] });
    const request = { requestId: randomUUID(), requestSpec, instanceUuids: [randomUUID()], numAlternates: 0 };
    const { noValidHost } = await cell.call(selectDestinationsMethod, request);
    expect(noValidHost?.filters.map(({ filter }) => filter)).toEqual(['capacity', 'traits']);
    const explained = await cell.call(explainMethod, { requestSpec, host: 'host-1', limit: 1 });
    expect(explained.hosts[0]?.refusals).toHaveLength(2);
    await expect(cell.call(explainMethod, { requestSpec, host: 'nobody', limit: 1 })).rejects.toMatchObject({
      code: 'not_found',
      reason: 'no_such_host',
    });
  });

  it('lists hosts page by page, and one by name', async () => {
    for (const n of [2, 1, 3]) await cell.report({ host: `host-${n}`, providerUuid: ROOT.replace(/1$/, String(n)) });
    const list = (fields: { host?: string; marker?: string; limit?: number }) =>
      cell.call(listHostsMethod, { host: '', marker: '', limit: 0, ...fields });
    expect((await list({})).hosts.map(({ host }) => host)).toEqual(['host-1', 'host-2', 'host-3']);
    expect((await list({ marker: 'host-1', limit: 1 })).hosts.map(({ host }) => host)).toEqual(['host-2']);
    expect((await list({ host: 'host-3' })).hosts).toMatchObject([
      { host: 'host-3', up: true, enabled: true, resources: { VCPU: { used: 0 } } },
    ]);
    await expect(list({ host: 'host-9' })).rejects.toMatchObject({ reason: 'no_such_host' });
  });

  it('disables a host at once, and enables it again', async () => {
    await cell.report();
    const requestSpec = anEncodedSpec();
    const set = (enabled: boolean) => cell.call(setHostEnabledMethod, { host: 'host-1', enabled, reason: 'disk' });
    const passed = async () => (await cell.call(explainMethod, { requestSpec, host: '', limit: 0 })).hosts.length;
    expect((await set(false)).host).toMatchObject({ enabled: false, disabledReason: 'disk' });
    expect(await passed()).toBe(0);
    await set(true);
    expect(await passed()).toBe(1);
    await expect(cell.call(setHostEnabledMethod, { host: 'nobody', enabled: true, reason: '' })).rejects.toMatchObject({
      reason: 'no_such_host',
    });
  });
});

/** host-1 as operators see it. */
async function hostOne() {
  const { hosts } = await cell.call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 });
  return hosts[0];
}

describe('a host that keeps failing', () => {
  const requestSpec = anEncodedSpec();
  const fail = () => cell.placement.commit(aFailure({ atMs: cell.clock.now() }));

  async function quarantined(): Promise<void> {
    await cell.report();
    for (let n = 0; n < 4; n++) {
      await cell.clock.advance(10);
      await fail();
    }
  }

  it('is in quarantine until a build comes to run there that was claimed since', async () => {
    await quarantined();
    expect(await hostOne()).toMatchObject({ failuresInARow: 4, lastFailure: 'failed' });
    const untilMs = (await hostOne())?.quarantinedUntilMs ?? 0;
    expect(await cell.metrics()).toContain('berth_scheduler_hosts{state="quarantined"} 1');
    const before = randomUUID();
    await mustCommit(cell.placement, {
      kind: 'write_allocations',
      atMs: 0,
      consumers: [aWrite({ [ROOT]: { VCPU: 1 } }, { uuid: before })],
    });
    await cell.report({ sequence: 2, instances: [running(before)] });
    expect((await hostOne())?.quarantinedUntilMs).toBe(untilMs);
    await cell.clock.advance(untilMs - cell.clock.now());
    const instanceUuids = [randomUUID()];
    const request = { requestId: randomUUID(), requestSpec, instanceUuids, numAlternates: 0 };
    await cell.call(selectDestinationsMethod, request);
    const probe = (isRunning: boolean) => instanceUuids.map((uuid) => running(uuid, { running: isRunning }));
    await cell.report({ sequence: 3, instances: [running(before), ...probe(false)] });
    expect((await hostOne())?.quarantinedUntilMs).toBe(untilMs);
    await cell.report({ sequence: 4, instances: [running(before), ...probe(true)] });
    expect(await hostOne()).toMatchObject({ failuresInARow: 0, quarantinedUntilMs: 0 });
  });

  it('is trusted again when an operator says so', async () => {
    await quarantined();
    expect((await cell.call(clearHostFailuresMethod, { host: 'host-1' })).host).toMatchObject({
      quarantinedUntilMs: 0,
    });
    await expect(cell.call(clearHostFailuresMethod, { host: 'nobody' })).rejects.toMatchObject({
      reason: 'no_such_host',
    });
  });

  it('is one whose reports are refused, and counts once a pause', async () => {
    await cell.report();
    for (let sequence = 2; sequence < 12; sequence++) {
      await cell.clock.advance(10);
      await expect(cell.report({ sequence, traits: ['SHINY'] })).rejects.toMatchObject({ reason: 'unknown_trait' });
    }
    const lastFailure = expect.stringContaining('report refused: unknown_trait: ');
    expect(await hostOne()).toMatchObject({ failuresInARow: 4, lastFailure });
  });
});

describe('stats', () => {
  it('counts what Berth does not manage as reserved', async () => {
    await cell.report({ externalUsage: { VCPU: 3 }, externalInstances: 1 });
    const { hosts } = await cell.call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 });
    expect(hosts[0]).toMatchObject({ externalInstances: 1, resources: { VCPU: { inventory: { reserved: 3 } } } });
  });

  it('refuses a report of another host and a stale one with the reason, counted, and applies nothing of it', async () => {
    await cell.report({ sequence: 2 });
    await expect(cell.report({ host: 'host-1', sequence: 3 }, await cell.as('agent.host-2'))).rejects.toMatchObject({
      code: 'permission_denied',
      reason: 'wrong_host',
    });
    await expect(cell.report({ sequence: 2, ioOps: 9 })).rejects.toMatchObject({
      reason: 'stale_sequence',
      details: { present: '2' },
    });
    const before = await hostOne();
    await expect(cell.report({ sequence: 3, ioOps: 9, traits: ['SHINY'] })).rejects.toMatchObject({
      code: 'invalid_argument',
      reason: 'unknown_trait',
      details: { field: 'traits[0]' },
    });
    expect(await hostOne()).toMatchObject({ ioOps: before?.ioOps, traits: before?.traits });
    const metrics = await cell.metrics();
    for (const outcome of ['accepted', 'wrong_host', 'stale_sequence', 'unknown_trait']) {
      expect(metrics).toContain(`berth_scheduler_stats_total{outcome="${outcome}"} 1`);
    }
  });

  it('refuses a provider that is another host’s, and a name that is another provider’s', async () => {
    await cell.report();
    await expect(cell.report({ host: 'host-2' })).rejects.toMatchObject({ reason: 'provider_taken' });
    await expect(cell.report({ providerUuid: ROOT.replace(/1$/, '9'), sequence: 2 })).rejects.toMatchObject({
      reason: 'name_taken',
    });
  });

  const NOVA = 'b0000000-0000-4000-8000-000000000001';
  const aForeignProvider = async () => {
    const nova = { kind: 'put_provider', uuid: NOVA, name: 'nova-7', parentUuid: undefined, mode: 'create' } as const;
    await mustCommit(cell.placement, nova);
    const inventories = { VCPU: inventory(8) };
    const has = { kind: 'write_inventories', providerUuid: NOVA, generation: undefined, inventories } as const;
    await mustCommit(cell.placement, { ...has, replace: true });
  };

  it('refuses a provider that is there and no host’s, by its name, and leaves it as it is', async () => {
    await aForeignProvider();
    const agent = await cell.as('agent.host-1');
    const taking = cell.report({ providerUuid: NOVA, inventories: { VCPU: inventory(1_000) } }, agent);
    await expect(taking).rejects.toMatchObject({
      code: 'failed_precondition',
      reason: 'provider_not_yours',
      message: expect.stringMatching(/nova-7.*BERTH_SCHEDULER_REPORT_GRANTS=host-1=b0000000/),
    });
    const { providers } = await contentsOf(cell.placement);
    expect(providers).toMatchObject([{ name: 'nova-7', inventories: { VCPU: { total: 8 } } }]);
    const pool = await cell.as('pool-gold.agent-1');
    const asked = { serviceHost: 'agent-1', hosts: ['node-1'], pool: 'gold' };
    const { grants } = await cell.acquire(asked, pool);
    const node = { host: 'node-1', serviceHost: 'agent-1', providerUuid: NOVA, epoch: grants[0]?.epoch ?? 0 };
    await expect(cell.report(node, pool)).rejects.toMatchObject({ reason: 'provider_not_yours' });
  });

  it('takes from an agent neither aggregates nor what others share in, on its host or on a device', async () => {
    const agent = await cell.as('agent.host-1');
    const [aggregates, traits] = [[randomUUID()], ['MISC_SHARES_VIA_AGGREGATE']];
    const nic = { name: 'nic0', parent: '', inventories: {}, traits, externalUsage: {} };
    for (const fields of [{ aggregates }, { traits }, { nestedProviders: [nic] }]) {
      await expect(cell.report(fields, agent)).rejects.toMatchObject({ reason: 'sharing_not_granted' });
    }
    expect((await cell.report({ aggregates: [] }, agent)).sequence).toBe(1);
  });

  it('takes what an operator grants a host: to share, and one provider that is no host’s', async () => {
    await cell.close();
    cell = await aCell({ BERTH_SCHEDULER_REPORT_GRANTS: `host-1=${NOVA}, host-2` });
    await aForeignProvider();
    const traits = ['MISC_SHARES_VIA_AGGREGATE'];
    const [one, two] = [await cell.as('agent.host-1'), await cell.as('agent.host-2')];
    await cell.report({ providerUuid: NOVA, traits, aggregates: [randomUUID()] }, one);
    await cell.report({ providerUuid: ROOT, host: 'host-2', traits }, two);
    await expect(cell.report({ providerUuid: NOVA, host: 'host-2', sequence: 2 }, two)).rejects.toMatchObject({
      reason: 'provider_taken',
    });
  });

  it('takes a silent host as down once somebody listened for the whole timeout, and up when it reports again', async () => {
    const { report, clock, call } = cell;
    const isUp = async () => (await call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 })).hosts[0]?.up;
    await report();
    await clock.advance(HOST_TIMEOUT_MS * 0.9);
    expect(await isUp()).toBe(true);
    await clock.advance(HOST_TIMEOUT_MS * 0.6);
    expect(await isUp()).toBe(false);
    await report({ sequence: 2 });
    expect(await isUp()).toBe(true);
  });

  it('takes no host as down whose reports the store refuses, nor before the whole timeout has passed since', async () => {
    const { report, clock, call, placement } = cell;
    const isUp = async () => (await call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 })).hosts[0]?.up;
    await report();
    const full = new BerthError('unavailable', 'store_full', 'the store is full');
    const heard = jest.spyOn(placement, 'reportHost').mockRejectedValue(full);
    for (let n = 0; n < 6; n++) {
      await clock.advance(HOST_TIMEOUT_MS / 4);
      await expect(report({ sequence: 2 + n })).rejects.toMatchObject({ reason: 'store_full' });
    }
    heard.mockRestore();
    await clock.advance(HOST_TIMEOUT_MS * 0.9);
    expect(await isUp()).toBe(true);
    await clock.advance(HOST_TIMEOUT_MS * 0.6);
    expect(await isUp()).toBe(false);
  });

  it('takes no host as down while reports wait, as those of all do behind one agent that floods their queue', async () => {
    const { report, clock, call, placement, flood } = cell;
    const isUp = async () => (await call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 })).hosts[0]?.up;
    await report();
    let release = () => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const refused = { kind: 'stale', present: 1 } as const;
    jest.spyOn(placement, 'reportHost').mockImplementation(() => slow.then(() => refused));
    const flooding = flood(200);
    await clock.advance(HOST_TIMEOUT_MS * 2);
    const wasUp = await isUp();
    release();
    await flooding;
    expect(wasUp).toBe(true);
    await clock.advance(HOST_TIMEOUT_MS * 1.6);
    expect(await isUp()).toBe(false);
  });

  it('keeps a host up by reports that say nothing new: nothing is committed, and their sequence counts', async () => {
    const { report, clock, call, placement } = cell;
    await report();
    const revision = await placement.revision();
    for (const sequence of [2, 3]) {
      await clock.advance(HOST_TIMEOUT_MS * 0.9);
      await report({ sequence });
    }
    await clock.advance(HOST_TIMEOUT_MS * 0.9);
    const { hosts } = await call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 });
    expect(hosts[0]?.up).toBe(true);
    expect(await placement.revision()).toBe(revision);
    await expect(report({ sequence: 3 })).rejects.toMatchObject({
      reason: 'stale_sequence',
      details: { present: '3' },
    });
  });

  it('tells conductors of instances without a claim and of old claims without an instance, not of fresh ones', async () => {
    const { report, noteHeard, clock, placement, discrepancies } = cell;
    const [unknown, building, missing, fresh, fine] = Array.from({ length: 5 }, () => randomUUID());
    await report();
    await noteHeard();
    const claim = async (uuid = '', owner: 'conductor' | 'api' = 'conductor') => {
      const consumers = [aWrite({ [ROOT]: { VCPU: 1 } }, { uuid, owner })];
      await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers });
    };
    await claim(missing);
    await claim(fine);
    await claim(randomUUID(), 'api');
    await clock.advance(31_000);
    await claim(fresh);
    // A host speaks for its own providers only.
    const allocations = { [ROOT]: { VCPU: 1 }, [randomUUID()]: { VCPU: 1 } };
    const instances = [
      running(unknown ?? '', { allocations }),
      running(building ?? '', { running: false }),
      running(fine ?? ''),
    ];
    // Each report is told: two in a row settle that an instance is missing.
    for (const sequence of [2, 3]) await report({ sequence, position: sequence * 2, instances, serviceHost: 'rack-7' });
    await clock.advance(0);
    const told = {
      host: 'host-1',
      providerUuid: ROOT,
      unclaimed: [expect.objectContaining({ instanceUuid: unknown, allocations: { [ROOT]: { VCPU: 1 } } })],
      missing: [missing],
      present: [],
      serviceHost: 'rack-7',
      reporter: 'host-1',
      epoch: 0,
      atMs: clock.now(),
      saidAfterMs: 0,
      changing: [],
    };
    expect(discrepancies).toEqual([
      { ...told, sequence: 2, position: 4 },
      { ...told, sequence: 3, position: 6 },
    ]);
  });

  it('counts what runs without a claim as external usage, up to the inventory, and claims nothing for it', async () => {
    const { report, call, placement } = cell;
    const inventories = { VCPU: inventory(8, { allocationRatio: 2 }), MEMORY_MB: inventory(4_096) };
    const lies = Array.from({ length: 1_000 }, () => running(randomUUID(), { resources: { VCPU: 3, MEMORY_MB: 1 } }));
    const reserved = async () => {
      const { hosts } = await call(listHostsMethod, { host: 'host-1', marker: '', limit: 0 });
      return Object.values(hosts[0]?.resources ?? {}).map((one) => one.inventory.reserved);
    };
    await report({ inventories, instances: lies.slice(0, 1) });
    expect(await reserved()).toEqual([2, 1]);
    await report({ inventories, instances: lies, sequence: 2 });
    expect(await reserved()).toEqual([8, 1_000]);
    await report({ inventories, sequence: 3 });
    expect(await reserved()).toEqual([0, 0]);
    await placement.scanConsumers(async (consumers) => expect(consumers).toEqual([]));
  });

  it('asks for the allocation requests of what runs without a claim, until it has them', async () => {
    const { report } = cell;
    const one = running(randomUUID());
    expect((await report({ instances: [one] })).wantsAllocationRequests).toBe(true);
    const shown = { ...one, allocationRequest: Uint8Array.of(1) };
    expect((await report({ instances: [shown], sequence: 2 })).wantsAllocationRequests).toBe(false);
  });

  it('tells what a host runs when it has a new holder, and when it was down', async () => {
    const { report, clock, placement, discrepancies, acquire } = cell;
    await report();
    const uuid = randomUUID();
    const consumers = [aWrite({ [ROOT]: { VCPU: 1 } }, { uuid })];
    await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers });
    const instances = [running(uuid)];
    await report({ instances, sequence: 2 });
    const [grant] = (await acquire()).grants;
    const epoch = grant?.epoch ?? 0;
    await report({ instances, sequence: 3, epoch });
    await report({ instances, sequence: 4, epoch });
    await clock.advance(HOST_TIMEOUT_MS * 1.5);
    await report({ instances, sequence: 5, epoch });
    await clock.advance(0);
    expect(discrepancies.map(({ sequence, present }) => [sequence, present.map((one) => one.instanceUuid)])).toEqual([
      [3, [uuid]],
      [5, [uuid]],
    ]);
  });
});

it('tells what runs by a later claim than the store has', async () => {
  const { report, clock, placement, discrepancies } = cell;
  await report();
  const uuid = randomUUID();
  const consumers = [aWrite({ [ROOT]: { VCPU: 1 } }, { uuid })];
  await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers });
  const claimToken = (await placement.consumers([uuid]))[0]?.claimToken ?? 0;
  for (const [n, later] of [0, -1, 1].entries())
    await report({ instances: [running(uuid, { claimToken: claimToken + later })], sequence: n + 2 });
  await clock.advance(0);
  expect(discrepancies.map(({ sequence, present }) => [sequence, present.map((one) => one.instanceUuid)])).toEqual([
    [4, [uuid]],
  ]);
});

describe('what operators are to see', () => {
  it('tells conductors whose report is refused, and which host is taken', async () => {
    const { report, acquire, discrepancies, clock, as } = cell;
    await report();
    await expect(report({ sequence: 2, traits: ['NO_SUCH_TRAIT'] })).rejects.toMatchObject({ reason: 'unknown_trait' });
    await acquire();
    await acquire({ agentRun: 'run-2' });
    await expect(report({ sequence: 3, traits: ['NO'] }, await as('agent.host-2'))).rejects.toMatchObject({
      reason: 'wrong_host',
    });
    await clock.advance(0);
    expect(discrepancies.map(({ host, refusal }) => [host, refusal?.reason, refusal?.message])).toEqual([
      ['host-1', 'unknown_trait', expect.stringContaining('NO_SUCH_TRAIT')],
      ['host-1', 'host_taken', 'run run-2 of host-1 asks for 1 of the hosts that run run-1 of host-1 holds'],
    ]);
  });

  it('keeps a host up whose instance has a name out of bounds, and says so', async () => {
    const { report, noteHeard, discrepancies, clock, placement } = cell;
    const uuid = randomUUID();
    const instances = [running(uuid, { projectId: 'p'.repeat(181), name: 'x'.repeat(256) })];
    await report({ instances });
    await noteHeard();
    await placement.commit({
      kind: 'write_allocations',
      atMs: clock.now(),
      consumers: [aWrite({ [ROOT]: { VCPU: 1 } }, { uuid })],
    });
    await clock.advance(60_000);
    for (const sequence of [2, 3]) await report({ sequence, instances });
    await clock.advance(0);
    const told = discrepancies.map(({ refusal, missing, unclaimed }) => [
      refusal?.message ?? unclaimed.map(({ projectId, name }) => [projectId, name]),
      missing,
    ]);
    const refusal = ['instances[0].project_id may have at most 180 bytes', []];
    expect(told).toEqual([refusal, [[['', '']], []], refusal, refusal]);
  });

  it('lists providers that are allocated above their capacity', async () => {
    const { report, call, placement, clock } = cell;
    await report({ inventories: { VCPU: inventory(4), MEMORY_MB: inventory(4_096) } });
    expect(await call(listOverAllocatedMethod, {})).toEqual({ overAllocated: [] });
    const consumers = [aWrite({ [ROOT]: { VCPU: 6, MEMORY_MB: 4_096 } }, { uuid: randomUUID() })];
    await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers, force: true });
    await clock.advance(0);
    expect(await call(listOverAllocatedMethod, {})).toEqual({
      overAllocated: [
        { providerUuid: ROOT, providerName: 'host-1', host: 'host-1', resourceClass: 'VCPU', used: 6, capacity: 4 },
      ],
    });
  });
});

describe('holding a host', () => {
  it('is for one run at a time: another one is told who holds it and for how long, and its reports are refused', async () => {
    const { acquire, report, metrics } = cell;
    const [mine] = (await acquire()).grants;
    const epoch = mine?.epoch ?? 0;
    await report({ epoch });
    expect((await acquire({ agentRun: 'run-2' })).grants).toEqual([
      { epoch: 0, holderRun: 'run-1', holderServiceHost: 'host-1', heldForMs: 60_000 },
    ]);
    for (const other of [0, epoch - 1]) {
      await expect(report({ agentRun: 'run-2', epoch: other })).rejects.toMatchObject({ reason: 'epoch_superseded' });
    }
    expect(await metrics()).toContain('berth_scheduler_stats_total{outcome="epoch_superseded"} 2');
    expect(await metrics()).toContain('berth_scheduler_host_grants_total{outcome="host_taken"} 1');
  });

  it('passes on when the lease has run out, or was given back', async () => {
    const { acquire, release, report, clock } = cell;
    const [first] = (await acquire()).grants;
    await clock.advance(60_001);
    const [second] = (await acquire({ agentRun: 'run-2' })).grants;
    await expect(report({ epoch: first?.epoch ?? 0 })).rejects.toMatchObject({ reason: 'epoch_superseded' });
    await report({ agentRun: 'run-2', epoch: second?.epoch ?? 0 });
    await release({ agentRun: 'run-2' });
    expect((await acquire({ agentRun: 'run-3' })).grants[0]?.epoch).toBeGreaterThan(second?.epoch ?? 0);
  });

  it('is asked for again when the store has forgotten the epoch', async () => {
    await expect(cell.report({ epoch: 99 })).rejects.toMatchObject({ reason: 'epoch_unknown' });
  });

  it('is for the agent of the service host alone', async () => {
    const other = await cell.as('agent.host-2');
    await expect(cell.acquire({}, other)).rejects.toMatchObject({ reason: 'wrong_host' });
    await expect(cell.acquire({ serviceHost: 'host-2' }, other)).rejects.toMatchObject({ reason: 'wrong_host' });
    await expect(cell.release({}, other)).rejects.toMatchObject({ reason: 'wrong_host' });
  });

  it('goes with what a selection says of the host, so that orders carry it', async () => {
    const { acquire, report, call } = cell;
    const epoch = (await acquire()).grants[0]?.epoch ?? 0;
    await report({ epoch });
    const request = { requestId: randomUUID(), requestSpec: anEncodedSpec(), instanceUuids: [randomUUID()] };
    const { destinations } = await call(selectDestinationsMethod, { ...request, numAlternates: 0 });
    expect(destinations.map(({ selected }) => selected.epoch)).toEqual([epoch]);
  });
});

it('is ready while the mirror follows, and closes without a rest', async () => {
  expect(cell.scheduler.readiness()).toEqual({ ready: true });
  await cell.scheduler.close();
});
