import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import type { ServerGroup } from '#libs/domain/server-group';
import type { CommitResult, PlacementStore } from '#libs/placement/port/placement-store';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, classified, hostsOf, INVENTORIES, opened, uuidOfHost, type World } from '../testing/world';
import { selectDestinations } from './select-destinations';

const SMALL = { VCPU: 1 };

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

async function report(...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) await world.report(host);
}

function group(policy: ServerGroup['policy'], maxPerHost = 1): ServerGroup {
  return { id: 'group-1', policy, maxPerHost };
}

describe('a selection', () => {
  it('is claimed, with the token and the sealed request that say so', async () => {
    await report('a');
    const scheduler = await world.scheduler();
    const uuid = randomUUID();
    const { response } = await scheduler.select({ resources: { VCPU: 2 } }, [uuid]);
    const [destination] = response.destinations;
    const [consumer] = await world.placement.consumers([uuid]);
    expect(consumer).toMatchObject({
      owner: 'conductor',
      consumerType: 'INSTANCE',
      allocations: { [uuidOfHost('a')]: { VCPU: 2 } },
      claimToken: destination?.claimToken,
    });
    expect(opened(scheduler, destination?.selected.allocationRequest ?? new Uint8Array())).toMatchObject({
      consumerUuid: uuid,
      host: 'a',
      allocations: { [uuidOfHost('a')]: { VCPU: 2 } },
    });
  });

  it('is seen by the next decision before the stream tells of it', async () => {
    await report('a');
    const scheduler = await world.scheduler();
    expect(hostsOf(await scheduler.select({ resources: { VCPU: 8 } }))).toEqual(['a']);
    const { response } = await scheduler.select({ resources: { VCPU: 8 } });
    expect(response.noValidHost?.summary).toBe('0 of 1 host fit: 1 lacks free VCPU (capacity_vcpu)');
  });

  it('spreads by default and packs with negative weights', async () => {
    await report('a', 'b', 'c');
    await world.occupy('b', { VCPU: 4, MEMORY_MB: 8_192 });
    const spreading = await world.scheduler();
    const spread = hostsOf(await spreading.select({ resources: SMALL }, 2));
    expect(spread.toSorted()).toEqual(['a', 'c']);
    const packing = await world.scheduler({ weightCpu: -1, weightRam: -1, weightDisk: -1, weightIoOps: 0 });
    expect(hostsOf(await packing.select({ resources: SMALL }, 3))).toEqual(['b', 'b', 'b']);
  });

  it('falls on any of equal hosts, by the request, and on the same one when the same request is decided again', async () => {
    const hosts = Array.from({ length: 8 }, (_, i) => `host-${i}`);
    await report(...hosts);
    const scheduler = await world.scheduler();
    const chosen = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const { response } = await scheduler.select({ resources: SMALL });
      const [destination] = response.destinations;
      chosen.add(destination?.selected.host ?? '');
      const change = await world.placement.commit({
        kind: 'release_claim',
        atMs: world.clock.now(),
        consumerUuid: destination?.instanceUuid ?? '',
        claimToken: destination?.claimToken ?? 0,
      });
      if (change.kind === 'committed') scheduler.mirror.apply(change.change);
    }
    expect([...chosen].sort()).toEqual(hosts);
  });
});

describe('alternates', () => {
  it('are other hosts of the same cell, best first, with requests that can be claimed, and are not claimed', async () => {
    await report('a', 'b', 'c', 'd');
    await world.report('elsewhere', { cell: 'cell2' });
    await world.occupy('elsewhere', { VCPU: 7 });
    await world.occupy('b', { VCPU: 2 });
    await world.occupy('c', { VCPU: 4 });
    await world.occupy('d', { VCPU: 6 });
    const scheduler = await world.scheduler();
    const uuid = randomUUID();
    const { response } = await scheduler.select({ resources: SMALL }, [uuid], 10);
    const [destination] = response.destinations;
    expect(destination?.selected.host).toBe('a');
    expect(destination?.alternates.map(({ host }) => host)).toEqual(['b', 'c', 'd']);
    const sealed = destination?.alternates[0]?.allocationRequest ?? new Uint8Array();
    expect(opened(scheduler, sealed)).toMatchObject({
      consumerUuid: uuid,
      host: 'b',
      allocations: { [uuidOfHost('b')]: SMALL },
    });
    expect((await world.placement.consumers([uuid])).map(({ allocations }) => Object.keys(allocations))).toEqual([
      [uuidOfHost('a')],
    ]);
  });

  it('keep to the group: away from the other members, and nowhere else when the group must stay together', async () => {
    await report('a', 'b', 'c', 'd');
    const scheduler = await world.scheduler();
    const apart = await scheduler.select({ resources: SMALL, group: group('anti-affinity') }, 3, 5);
    const hosts = hostsOf(apart);
    expect(new Set(hosts).size).toBe(3);
    const [free] = ['a', 'b', 'c', 'd'].filter((host) => !hosts.includes(host));
    for (const { alternates } of apart.response.destinations)
      expect(alternates.map(({ host }) => host)).toEqual([free]);
    const near = { id: 'group-2', policy: 'affinity', maxPerHost: 1 } as const;
    const first = await scheduler.select({ resources: SMALL, group: near }, 1, 5);
    expect(first.response.destinations[0]?.alternates).toHaveLength(3);
    const others = await scheduler.select({ resources: SMALL, group: near }, 2, 5);
    expect(new Set([...hostsOf(others), ...hostsOf(first)]).size).toBe(1);
    expect(others.response.destinations.map(({ alternates }) => alternates.length)).toEqual([0, 0]);
  });
});

describe('a request for many', () => {
  it('is placed whole or not at all', async () => {
    await report('a', 'b');
    const scheduler = await world.scheduler();
    const uuids = Array.from({ length: 17 }, () => randomUUID());
    const tooMany = await scheduler.select({ resources: SMALL }, uuids);
    expect(tooMany.response.noValidHost?.summary).toBe(
      'room for 16 of 17 instances, then 0 of 2 hosts fit: 2 lack free VCPU (capacity_vcpu)',
    );
    expect(await world.placement.consumers(uuids)).toEqual([]);
    const all = await scheduler.select({ resources: SMALL }, uuids.slice(1));
    expect(all.response.destinations.map(({ instanceUuid }) => instanceUuid)).toEqual(uuids.slice(1));
    expect(hostsOf(all).filter((host) => host === 'a')).toHaveLength(8);
  });

  it('leaves nothing behind of a refused attempt, so that the next one finds all the room', async () => {
    await report('a');
    const scheduler = await world.scheduler();
    await scheduler.select({ resources: SMALL }, 9);
    expect(hostsOf(await scheduler.select({ resources: SMALL }, 8))).toHaveLength(8);
  });

  it('of an affinity group goes to a host that has room for all, though another is better for one', async () => {
    await world.report('large', { inventories: { VCPU: inventory(100, { maxUnit: 2 }) } });
    await world.occupy('large', { VCPU: 2 });
    for (let i = 0; i < 48; i++) await world.occupy('large', { VCPU: 2 }).catch(() => undefined);
    await world.report('roomy', { inventories: { VCPU: inventory(6) } });
    await world.report('empty', { inventories: { VCPU: inventory(5) } });
    await world.occupy('roomy', { VCPU: 1 });
    const scheduler = await world.scheduler();
    const spec = { resources: { VCPU: 1 }, group: group('affinity') };
    expect(new Set(hostsOf(await scheduler.select(spec, 5))).size).toBe(1);
    const { response } = await scheduler.select({ ...spec, group: { ...spec.group, id: 'group-2' } }, 6);
    expect(response.noValidHost).toMatchObject({ hostsPassed: 0 });
  });

  it('gathers a soft-affinity group and parts a soft-anti-affinity group, as far as there is room', async () => {
    await report('a', 'b', 'c');
    const scheduler = await world.scheduler();
    const together = hostsOf(await scheduler.select({ resources: { VCPU: 2 }, group: group('soft-affinity') }, 5));
    expect(together.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => together[0]));
    expect(together[4]).not.toBe(together[0]);
    const apart = { id: 'group-2', policy: 'soft-anti-affinity', maxPerHost: 1 } as const;
    const parted = hostsOf(await scheduler.select({ resources: { VCPU: 1 }, group: apart }, 4));
    expect(new Set(parted).size).toBeGreaterThanOrEqual(2);
    expect(new Set(parted.slice(0, 2)).size).toBe(2);
  });

  it('of more instances than one request may place is refused as such', async () => {
    const scheduler = await world.scheduler({ maxInstances: 2 });
    await expect(scheduler.select({}, 3)).rejects.toMatchObject({ code: 'invalid_argument', reason: 'too_many' });
  });
});

describe('asked again', () => {
  it('gives the same hosts and tokens, from another scheduler too, and claims nothing more', async () => {
    await report('a', 'b', 'c');
    const [one, other] = [await world.scheduler(), await world.scheduler()];
    const uuids = [randomUUID(), randomUUID()];
    // At the same time: the other one's mirror has not heard of it, and it finds out when it claims.
    const [first, again] = await Promise.all([one, other].map((each) => each.select({ resources: SMALL }, uuids, 1)));
    if (!first || !again) throw new Error('no answers');
    const gist = (selected: typeof first) =>
      selected.response.destinations.map(({ selected: { host }, claimToken }) => ({ host, claimToken }));
    expect(gist(again)).toEqual(gist(first));
    expect(gist(await one.select({ resources: SMALL }, uuids, 1))).toEqual(gist(first));
    expect(again.response.destinations[0]?.alternates).toHaveLength(1);
    expect(one.mirror.consumersOn(uuidOfHost('a')).size + one.mirror.consumersOn(uuidOfHost('b')).size).toBeLessThan(3);
  });

  it('with more instances, claims only for those that hold nothing', async () => {
    await report('a', 'b');
    const scheduler = await world.scheduler();
    const [held, fresh] = [randomUUID(), randomUUID()];
    const before = await scheduler.select({ resources: SMALL, group: group('anti-affinity') }, [held]);
    const after = await scheduler.select({ resources: SMALL, group: group('anti-affinity') }, [fresh, held]);
    expect(hostsOf(after)[1]).toBe(hostsOf(before)[0]);
    expect(hostsOf(after)[0]).not.toBe(hostsOf(before)[0]);
  });

  it('replaces a claim that is not what is asked', async () => {
    await report('a');
    const scheduler = await world.scheduler();
    const uuid = randomUUID();
    await scheduler.select({ resources: { VCPU: 2 } }, [uuid]);
    await scheduler.select({ resources: { VCPU: 3 } }, [uuid]);
    expect((await world.placement.consumers([uuid])).map(({ allocations }) => allocations)).toEqual([
      { [uuidOfHost('a')]: { VCPU: 3 } },
    ]);
    expect(scheduler.mirror.usage(uuidOfHost('a'))).toEqual({ VCPU: 3 });
  });

  it('never touches a consumer of the placement API', async () => {
    await report('a');
    const uuid = randomUUID();
    const consumers = [aWrite({ [uuidOfHost('a')]: SMALL }, { uuid, owner: 'api' })];
    await mustCommit(world.placement, { kind: 'write_allocations', consumers });
    const scheduler = await world.scheduler();
    await expect(scheduler.select({ resources: SMALL }, [uuid])).rejects.toMatchObject({ reason: 'foreign_consumer' });
  });
});

describe('somebody was faster', () => {
  it('decides again on fresh rows, and counts it', async () => {
    await report('a', 'b');
    await world.occupy('b', { MEMORY_MB: 8_000 });
    const [one, slow] = [await world.scheduler(), await world.scheduler()];
    const [early, late] = await Promise.all([one, slow].map((each) => each.select({ resources: { VCPU: 8 } })));
    if (!early || !late) throw new Error('no answers');
    expect(hostsOf(early)).toEqual(['a']);
    expect({ hosts: hostsOf(late), conflicts: late.conflicts }).toEqual({ hosts: ['b'], conflicts: 1 });
    const { response } = await slow.select({ resources: { VCPU: 8 } });
    expect(response.noValidHost).toMatchObject({ claimConflicts: 0, hostsPassed: 0 });
  });

  it('gives up after the configured number of conflicts, and says that asking again may help', async () => {
    await report('a');
    // Somebody writes the usage before each claim.
    const full = refusingStore(world.placement, Number.MAX_SAFE_INTEGER);
    const scheduler = await world.scheduler({ claimAttempts: 3 }, full.store);
    await expect(scheduler.select({ resources: SMALL })).rejects.toMatchObject({
      code: 'aborted',
      reason: 'claim_conflicts',
    });
    expect(full.claims()).toBe(3);
  });

  it('leaves out a host that the store refuses although nothing changed, and says so when none is left', async () => {
    await report('a', 'b');
    const contrary = refusingStore(world.placement);
    const scheduler = await world.scheduler({}, contrary.store);
    const { response } = await scheduler.select({ resources: SMALL, forceHosts: ['a'] });
    expect(contrary.claims()).toBe(1);
    expect(response.noValidHost?.filters).toEqual([
      expect.objectContaining({ filter: 'force_hosts' }),
      { filter: 'claim', refused: 1, reasons: { claim_refused: 1 } },
    ]);
  });

  it('ends after the configured number of conflicts with no valid host when the store refuses one host after the other', async () => {
    const hosts = ['a', 'b', 'c', 'd'];
    await report(...hosts);
    for (const host of hosts) await world.occupy(host, SMALL, group('anti-affinity'));
    const scheduler = await world.scheduler({ claimAttempts: 3, filters: ['compute', 'capacity'] });
    const { response, conflicts } = await scheduler.select({ resources: SMALL, group: group('anti-affinity') });
    expect(conflicts).toBe(3);
    expect(response.noValidHost).toMatchObject({
      hostsConsidered: 4,
      hostsPassed: 0,
      filters: [{ filter: 'claim', refused: 3, reasons: { claim_refused: 3 } }],
      summary: 'after 3 attempts: 3 had the claim refused by the store (claim_refused), the last for group group-1',
    });
  });

  it('places a member of an affinity group that is on two hosts on one of them', async () => {
    await report('a', 'b', 'c');
    for (const host of ['a', 'b']) await world.force(host, SMALL, group('affinity'));
    const scheduler = await world.scheduler();
    const selected = await scheduler.select({ resources: SMALL, group: group('affinity') });
    expect(['a', 'b']).toContain(hostsOf(selected)[0]);
    expect(selected.conflicts).toBe(0);
  });

  it('says where an affinity group is not when its only host is gone', async () => {
    await report('a', 'b');
    const shared = randomUUID();
    const put = { kind: 'put_provider', uuid: shared, name: 'shared', parentUuid: undefined, mode: 'create' } as const;
    await mustCommit(world.placement, put);
    const given = { providerUuid: shared, generation: undefined, inventories: INVENTORIES, replace: true } as const;
    await mustCommit(world.placement, { kind: 'write_inventories', ...given });
    const member = { group: group('affinity'), host: 'gone' };
    const consumers = [aWrite({ [shared]: SMALL }, { group: member })];
    await mustCommit(world.placement, { kind: 'write_allocations', consumers });
    const scheduler = await world.scheduler();
    const { response, conflicts } = await scheduler.select({ resources: SMALL, group: group('affinity') });
    expect(conflicts).toBe(0);
    expect(response.noValidHost?.filters).toEqual([
      { filter: 'group_affinity', refused: 2, reasons: { group_is_elsewhere: 2 } },
    ]);
  });

  it('counts no members of a group of the same id in another project', async () => {
    await report('a', 'b');
    await world.occupy('a', { VCPU: 4 }, group('affinity'));
    const scheduler = await world.scheduler();
    const spec = { resources: SMALL, group: group('affinity') };
    expect(hostsOf(await scheduler.select(spec))).toEqual(['a']);
    expect(hostsOf(await scheduler.select({ ...spec, projectId: 'project-2' }))).toEqual(['b']);
  });

  it('parts an anti-affinity group that two schedulers place at the same time', async () => {
    await report('a', 'b');
    const schedulers = [await world.scheduler(), await world.scheduler()];
    const spec = { resources: SMALL, group: group('anti-affinity') };
    const selected = await Promise.all([...schedulers, ...schedulers].map((scheduler) => scheduler.select(spec)));
    expect(selected.flatMap(hostsOf).sort()).toEqual(['a', 'b']);
    expect(selected.filter(({ response }) => response.noValidHost)).toHaveLength(2);
  });

  it('keeps an affinity group together that two schedulers place at the same time', async () => {
    await report('a', 'b', 'c', 'd');
    const schedulers = [await world.scheduler(), await world.scheduler()];
    const spec = { resources: SMALL, group: group('affinity') };
    const selected = await Promise.all([...schedulers, ...schedulers].map((scheduler) => scheduler.select(spec)));
    const hosts = selected.flatMap(hostsOf);
    expect(hosts).toHaveLength(4);
    expect(new Set(hosts).size).toBe(1);
  });

  it('never over-commits, places all there is room for, and each request whole, however many race', async () => {
    const hosts = ['a', 'b', 'c', 'd'];
    await report(...hosts);
    const schedulers = await Promise.all([1, 2, 3, 4].map(() => world.scheduler({ hostSubsetSize: 3 })));
    const sizes = Array.from({ length: 60 }, (_, i) => 1 + (i % 3));
    const selected = await Promise.all(
      sizes.map(async (size, i) => schedulers[i % 4]?.select({ resources: { VCPU: 1, MEMORY_MB: 16 } }, size)),
    );
    const counts = selected.map((one) => one?.response.destinations.length ?? 0);
    for (const [i, count] of counts.entries()) expect([0, sizes[i]]).toContain(count);
    const [first] = schedulers;
    await first?.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    const used = hosts.map((host) => first?.mirror.usage(uuidOfHost(host))['VCPU'] ?? 0);
    expect(Math.max(...used)).toBeLessThanOrEqual(INVENTORIES['VCPU']?.total ?? 0);
    expect(used.reduce((sum, one) => sum + one, 0)).toBe(counts.reduce((sum, one) => sum + one, 0));
    // One place may be left over that no waiting batch fits.
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(32);
  });

  it.each([2, 4, 16, 64])(
    'fills a host with room for ten exactly, when %d ask at once, time and again',
    async (claimants) => {
      const schedulers = [await world.scheduler(), await world.scheduler()];
      for (let round = 0; round < 25; round++) {
        const host = `host-${round}`;
        await world.report(host, { inventories: { VCPU: inventory(10) } });
        const spec = { resources: SMALL, forceHosts: [host] };
        for (const { mirror } of schedulers)
          await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
        const selected = await Promise.all(
          Array.from({ length: claimants }, async (_, i) => schedulers[i % 2]?.select(spec)),
        );
        const placed = selected.filter((one) => one?.response.noValidHost === undefined).length;
        expect(placed).toBe(Math.min(10, claimants));
      }
    },
  );

  it('a request refused because of claims on their way is decided again when these fail', async () => {
    await report('a', 'b');
    const held = holdingStore(world.placement);
    const scheduler = await world.scheduler({}, held.store);
    const large = scheduler.select({ resources: { VCPU: 8 } }, 2);
    const small = scheduler.select({ resources: { VCPU: 1 } });
    // Somebody else takes a part of a: the pair fails as a whole, and then there is room for one.
    await world.occupy('a', { VCPU: 1 });
    held.letGo();
    expect((await large).response.noValidHost).toBeDefined();
    expect(hostsOf(await small)).toHaveLength(1);
  });
});

it('moves an instance off a host that it is to ignore, with its claim in one commit, and answers the same again', async () => {
  await report('a', 'b');
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const [first] = hostsOf(await scheduler.select({ resources: { VCPU: 2 } }, [uuid]));
  const elsewhere = { resources: { VCPU: 2 }, ignoreHosts: [first ?? ''] };
  const revision = await world.placement.revision();
  const moved = await scheduler.select(elsewhere, [uuid]);
  expect(hostsOf(moved)).toEqual([first === 'a' ? 'b' : 'a']);
  expect(await world.placement.revision()).toBe(revision + 1);
  const [consumer] = await world.placement.consumers([uuid]);
  expect(Object.keys(consumer?.allocations ?? {})).toEqual([uuidOfHost(first === 'a' ? 'b' : 'a')]);
  expect(await scheduler.select(elsewhere, [uuid])).toEqual(moved);
});

it('leaves an instance its claim when no other host takes it', async () => {
  await report('a');
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  await scheduler.select({ resources: { VCPU: 2 } }, [uuid]);
  const { response } = await scheduler.select({ resources: { VCPU: 2 }, ignoreHosts: ['a'] }, [uuid]);
  expect(response.noValidHost).toBeDefined();
  expect(await world.placement.consumers([uuid])).toHaveLength(1);
});

it('does not claim for a caller who has left', async () => {
  await report('a');
  const scheduler = await world.scheduler();
  const gone = { isAborted: true, signal: AbortSignal.abort() };
  const request = {
    requestId: randomUUID(),
    ...classified(),
    instanceUuids: [randomUUID()],
    numAlternates: 0,
  };
  const { placement, clock } = world;
  const sealing = { sealer: () => () => new Uint8Array(), refer: async () => [] };
  const holding = {
    holdAlternates: async () => {},
    nominate: async () => {},
    confirm: async () => [],
    takeTurn: async () => undefined,
  };
  const keeping = { keepDecision: () => {}, keepsSelected: () => false, noteGuarantee: () => {} };
  const deps = { ...scheduler, placement, clock, ...sealing, ...holding, ...keeping };
  await expect(selectDestinations(request, gone, deps)).rejects.toMatchObject({ reason: 'caller_left' });
  expect(await world.placement.consumers(request.instanceUuids)).toEqual([]);
});

/** A store that refuses every claim for want of capacity that it has. */
function refusingStore(store: PlacementStore, revision = 0) {
  let count = 0;
  const commit: PlacementStore['commit'] = async (command) => {
    if (command.kind !== 'write_allocations') return store.commit(command);
    count += 1;
    const providerUuid = uuidOfHost('a');
    const usage = { providerUuid, generation: 1, used: {}, revision };
    return { kind: 'capacity', providerUuid, resourceClass: 'VCPU', refusal: 'capacity', usage } satisfies CommitResult;
  };
  return { store: withCommit(store, commit), claims: () => count };
}

/** A store that holds claims back until it is told to let go. */
function holdingStore(store: PlacementStore) {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const commit: PlacementStore['commit'] = async (command) => {
    await gate;
    return store.commit(command);
  };
  return { store: withCommit(store, commit), letGo: () => letGo() };
}

function withCommit(store: PlacementStore, commit: PlacementStore['commit']): PlacementStore {
  return {
    commit,
    revision: () => store.revision(),
    identify: () => store.identify(),
    snapshot: (onRows) => store.snapshot(onRows),
    image: () => store.image(),
    follow: (revision, onChanges, signal) => store.follow(revision, onChanges, signal),
    reportHost: (hostReport) => store.reportHost(hostReport),
    acquireHosts: (wanted) => store.acquireHosts(wanted),
    releaseHosts: (held) => store.releaseHosts(held),
    joinPool: (wanted) => store.joinPool(wanted),
    leavePool: (member) => store.leavePool(member),
    writeNode: (write) => store.writeNode(write),
    nodes: (hosts) => store.nodes(hosts),
    holders: (hosts) => store.holders(hosts),
    nodeNames: () => store.nodeNames(),
    noteProcess: (process, atMs, keptMs) => store.noteProcess(process, atMs, keptMs),
    forgetProcess: (service, name) => store.forgetProcess(service, name),
    processes: () => store.processes(),
    consumers: (uuids) => store.consumers(uuids),
    hosts: (names) => store.hosts(names),
    heardAt: (names) => store.heardAt(names),
    unheardHosts: (sinceMs) => store.unheardHosts(sinceMs),
    reported: (providerUuids) => store.reported(providerUuids),
    scanConsumers: (onRows) => store.scanConsumers(onRows),
    projectUsages: () => store.projectUsages(),
    projectDays: (projectIds) => store.projectDays(projectIds),
    recentUses: () => store.recentUses(),
    endedUsage: (projectId) => store.endedUsage(projectId),
    openAsk: (ask, atMs) => store.openAsk(ask, atMs),
    answerAsk: (id, host, answer, atMs) => store.answerAsk(id, host, answer, atMs),
    askAnswer: (id, atMs) => store.askAnswer(id, atMs),
    keepDecisions: (decisions, most) => store.keepDecisions(decisions, most),
    decision: (uuid) => store.decision(uuid),
    recentDecisions: (most) => store.recentDecisions(most),
    keepAllocationRequests: (requests, terms) => store.keepAllocationRequests(requests, terms),
    allocationRequests: (ids, atMs) => store.allocationRequests(ids, atMs),
    keepCandidates: (candidates, terms) => store.keepCandidates(candidates, terms),
    takeCandidate: (id, atMs) => store.takeCandidate(id, atMs),
    close: () => store.close(),
  };
}
