import type { Provider } from '#libs/domain/provider';
import { createRing } from '#libs/ring/ring';
import { fairShare } from '#libs/ring/shares';
import { circling } from '../world/circling';
import { compareSets } from '../world/compare-sets';
import { classOf, NODE_NAMES, NODES } from './rack';
import type { RingChecker } from './ring-checker';
import type { RingWorld } from './ring-world';

/** States of a node at rest. */
const RESTING: readonly string[] = ['available', 'active', 'rescue', 'maintenance', 'manageable', 'error'];
/** States of an instance at rest. */
const ENDS: readonly string[] = ['active', 'stopped', 'error', 'deleted'];
/** States in which a node's inventory is offered. */
const OFFERED: readonly string[] = ['available', 'deploying', 'active', 'rescue'];
const MARK = /\[berth (\d+)\]$/;
const RING_SLACK = 0.1;

/** Every node is held by exactly one of the present agents. */
export async function checkServed(world: RingWorld, checker: RingChecker): Promise<void> {
  const holders = await world.server.stores.placement.holders(NODE_NAMES);
  const live = liveAgents(world);
  for (const [n, node] of NODE_NAMES.entries()) {
    const by = holders[n]?.serviceHost ?? 'nobody';
    if (!live.includes(by)) checker.fail('every node is served', `${node} is held by ${by}`);
  }
}

/** Invariants of a pool that has had neither faults nor requests for a while. */
export async function checkAtRest(world: RingWorld, checker: RingChecker): Promise<void> {
  await checkServed(world, checker);
  await checkMarks(world, checker);
  await checkShares(world, checker);
  await checkNodes(world, checker);
  checkInstances(checker);
  const round = circling(world.history, world.time.nowMs);
  if (round) checker.fail('queues are empty at rest', round);
  await checkQueues(world, checker);
}

function liveAgents(world: RingWorld): string[] {
  return world.presentAgents().filter((name) => world.member(name).process.isAlive);
}

/**
 * Each controller is marked with the epoch by which its node is held, so that it takes no earlier order. Where a store forgot the holder,
 * the mark may be of a later one: the holder learns of it by its next order, and asks for a later epoch.
 */
async function checkMarks(world: RingWorld, checker: RingChecker): Promise<void> {
  const holders = await world.server.stores.placement.holders(NODE_NAMES);
  for (const [n, node] of NODE_NAMES.entries()) {
    const mark = Number(MARK.exec(world.rack.system(node).assetTag)?.[1] ?? 0);
    const epoch = holders[n]?.epoch ?? 0;
    if (checker.nodes.get(node)?.state === 'enroll' || mark === epoch) continue;
    if (checker.hasForgotten && mark > epoch) continue;
    checker.fail('no node has two managers', `${node} is marked with ${mark} and held by ${epoch}`);
  }
}

/** No agent keeps more than its share and the slack of nodes that the ring gives to others. */
async function checkShares(world: RingWorld, checker: RingChecker): Promise<void> {
  const holders = await world.server.stores.placement.holders(NODE_NAMES);
  const live = liveAgents(world);
  const ring = createRing(live.map((name) => ({ name, weight: 1 })));
  for (const name of live) {
    const held = NODE_NAMES.filter((_, n) => holders[n]?.serviceHost === name);
    const most = Math.ceil(fairShare(ring, name, NODE_NAMES.length) * (1 + RING_SLACK));
    const left = held.filter((node) => ring.ownerOf(node) !== name);
    if (held.length > most && left.length > 0) checker.fail('shares are fair', `${name} keeps ${left.join(', ')}`);
  }
}

/** Nodes are at rest, offer the right inventory, and have the instance on record, which claims them. */
async function checkNodes(world: RingWorld, checker: RingChecker): Promise<void> {
  const providers = new Map<string, Provider>();
  await world.server.stores.placement.snapshot((rows) => {
    for (const provider of rows.providers ?? []) providers.set(provider.name, provider);
  });
  const present: string[] = [];
  for (const node of NODE_NAMES) {
    const record = checker.nodes.get(node);
    if (record === undefined) {
      checker.fail('every node is served', `${node} is not remembered`);
      continue;
    }
    const { state, instanceUuid } = record;
    // A node that a wiped store does not remember, and that is on, waits for an operator.
    // So does one whose controller was away when it was to be seen for the first time: its record says why.
    const isUnseen = record.contactedAtMs === 0 && record.reason !== '';
    const isUnknown = state === 'enroll' && (checker.hasForgotten || isUnseen);
    if (!RESTING.includes(state) && !isUnknown) checker.fail('every node is served', `${node} rests in ${state}`);
    const { uuid: providerUuid = '', inventories = {} } = providers.get(node) ?? {};
    const inventory = inventories[classOf(NODES[node] ?? '')];
    const offered = inventory === undefined ? 0 : inventory.total - inventory.reserved;
    // An instance without its record or its claim counts as external use.
    const claims = checker.consumers.get(instanceUuid)?.allocations ?? {};
    const isStray = checker.forgiven.has(instanceUuid) && claims[providerUuid] === undefined;
    const isGivenOut = OFFERED.includes(state) || instanceUuid !== '';
    const expected = isGivenOut && !isStray ? 1 : 0;
    if (offered !== expected) checker.fail('nodes offer what they are', `${node} is ${state} and offers ${offered}`);
    if (instanceUuid === '') continue;
    present.push(`${instanceUuid} on ${node}`);
    if (checker.installed.get(node) !== instanceUuid && !checker.forgiven.has(instanceUuid)) {
      checker.fail(
        'claims are what runs',
        `${instanceUuid} is to be on ${node}, which has ${checker.installed.get(node)}`,
      );
    }
  }
  checkClaims(checker, present, providers);
}

function checkClaims(checker: RingChecker, present: readonly string[], providers: ReadonlyMap<string, Provider>): void {
  const names = new Map(Array.from(providers.values(), ({ uuid, name }) => [uuid, name]));
  const claimed = [...checker.consumers.values()].flatMap(({ uuid, allocations }) =>
    Object.keys(allocations).map((on) => `${uuid} on ${names.get(on)}`),
  );
  const recorded = [...checker.instances.values()]
    .filter(({ state }) => state === 'active' || state === 'stopped')
    .map(({ uuid, host }) => `${uuid} on ${host}`);
  const wrong = (one: string, what: string) => {
    if (!checker.isForgiven(one)) checker.fail('claims are what runs', `${one} ${what}`);
  };
  compareSets(recorded, present, {
    onlyFirst: (one) => wrong(one, 'is on record, and not there'),
    onlySecond: (one) => wrong(one, 'is there, and not on record'),
  });
  compareSets(claimed, present, {
    onlyFirst: (one) => wrong(one, 'is claimed, and not there'),
    onlySecond: (one) => wrong(one, 'is there without a claim'),
  });
}

function checkInstances(checker: RingChecker): void {
  for (const { uuid, state } of checker.instances.values()) {
    if (checker.forgiven.has(uuid)) continue;
    if (!ENDS.includes(state)) checker.fail('every request ends', `${uuid} rests in ${state}`);
    if (checker.terminated.has(uuid) && state !== 'deleted' && state !== 'error') {
      checker.fail('every request ends', `${uuid} was terminated and rests in ${state}`);
    }
  }
  for (const uuid of checker.asked) {
    if (!checker.instances.has(uuid) && !checker.forgiven.has(uuid)) {
      checker.fail('every request ends', `${uuid} was asked for, and there is no record`);
    }
  }
}

/** Messages of periodic reports come and go: only those found in each look count. */
const LOOKS = 8;
const BETWEEN_LOOKS_MS = 130;

async function checkQueues(world: RingWorld, checker: RingChecker): Promise<void> {
  const least = new Map<string, number>();
  for (let n = 0; n < LOOKS; n++) {
    for (const queue of ['build.requests', 'build.results', ...liveAgents(world).map((name) => `agent.${name}`)]) {
      const depth = await world.observer.depth(queue);
      least.set(queue, Math.min(depth, least.get(queue) ?? depth));
    }
    await world.time.runUntil(world.time.nowMs + BETWEEN_LOOKS_MS);
  }
  for (const [queue, count] of least) {
    if (count > 0) checker.fail('queues are empty at rest', `${count} messages wait in ${queue}`);
  }
}
