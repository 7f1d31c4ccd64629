import { callMethod } from '#libs/bus/typed-calls';
import { agentSender, STATS } from '#libs/contracts/queues';
import {
  type RunningInstance,
  type UpdateResourceStatsRequest,
  updateResourceStatsMethod,
} from '#libs/contracts/stats';
import { inventory } from '#libs/domain/inventory';
import { SHARING_TRAIT } from '#libs/domain/provider';
import { type Random, randomInt } from '#libs/domain/random';
import type { TrackedInstance } from '#services/compute-agent/host/tracked-instance';
import type { Machine } from '../../machine';
import { agentOf, HOSTS, LIE_AGGREGATE } from '../../settings';
import { confirmed, type Perform, pick, type World } from '../common';

/** Where a lie stands among what its host says: after all the rest. */
export const LIE_POSITION = Number.MAX_SAFE_INTEGER;

/** An agent reports what it was never asked to run: some of it, far more than it has, or less than nothing. */
export function inventsInstances(random: Random): Perform {
  const host = pick(random, HOSTS);
  const VCPU = pick(random, [1, 2, 1_000, Number.MAX_SAFE_INTEGER, -5]);
  const invented = Array.from({ length: 1 + randomInt(random, 3) }, () => anInstance(random.uuid(), { VCPU }));
  return (world) => report(world, host, ({ told }) => ({ instances: [...told, ...invented] }));
}

/** More than one agent's share of doubts (`DOUBT_BOUNDS`), in one report. */
const FLOOD = 260;
/** Until a flood is worked on. */
const FLOODED_MS = 2_000;

/** An agent reports more strays than it has a share of doubts for. */
export function floodsStrays(random: Random): Perform {
  const host = pick(random, HOSTS);
  const invented = Array.from({ length: FLOOD }, () => anInstance(random.uuid(), { VCPU: 1 }));
  return (world) => {
    report(world, host, ({ told }) => ({ instances: [...told, ...invented] }));
    const { time, server } = world.fleet;
    time.at(time.nowMs + FLOODED_MS, () => {
      void server.stores.instances.listDoubts().then((doubts) => world.checker.checkShares(doubts));
    });
  };
}

/**
 * An agent reports an instance by an attempt that was never made: its own, another host's, or the consumer of another
 * service.
 */
export function claimsOthersInstances(random: Random): Perform {
  const host = pick(random, HOSTS);
  const place = random.next();
  const isItsOwn = random.next() < 0.5;
  return (world) => {
    const { checker, fleet } = world;
    const own = [...(fleet.machines.get(host)?.running.keys() ?? [])];
    const others = isItsOwn ? own : [...checker.foreign.keys(), ...checker.known.keys()];
    const uuid = others[Math.floor(place * others.length)];
    if (uuid === undefined) return;
    const { projectId = 'nobody' } = checker.known.get(uuid)?.latest ?? {};
    report(world, host, ({ told }) => ({
      instances: [
        ...told.filter(({ instanceUuid }) => instanceUuid !== uuid),
        { ...anInstance(uuid, { VCPU: 1 }), projectId, attempt: 7 },
      ],
    }));
  };
}

/** One report of a host, and not the one after it, lacks what runs there. */
export function leavesOutInstances(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => report(world, host, () => ({ instances: [] }));
}

/** An agent reports for a host that is another's, as its present holder or as an earlier one. */
export function reportsForAnother(random: Random): Perform {
  const host = pick(random, ['h1', 'h2'] as const);
  return (world) => report(world, host, () => ({ instances: [] }), host === 'h1' ? 'agent-h2' : 'agent-h1');
}

/** A report of an earlier holder of a host, of when it ran nothing, comes now. */
export function reportsOfEarlierEpoch(random: Random): Perform {
  const host = pick(random, HOSTS);
  const isUnknown = random.next() < 0.5;
  return (world) => report(world, host, ({ epoch }) => ({ instances: [], epoch: isUnknown ? 0 : epoch - 1 }));
}

/** An agent reports another's provider as its host's, or what others are to draw from. */
export function takesProviders(random: Random): Perform {
  const host = pick(random, HOSTS);
  const kind = pick(random, ['a node of nova', 'another host', 'an aggregate', 'shares'] as const);
  const uuid = random.uuid();
  return (world) => {
    const { checker } = world;
    const lie = (fields: Partial<UpdateResourceStatsRequest>) =>
      report(world, host, ({ told }) => ({ instances: told, ...fields }));
    const more = { VCPU: inventory(1_000) };
    switch (kind) {
      case 'a node of nova':
        return void novaBrings(world, uuid).then(() => lie({ providerUuid: uuid, inventories: more }));
      case 'another host': {
        const other = [...checker.hosts.values()].find(({ name }) => name !== host);
        return other && lie({ providerUuid: other.providerUuid, inventories: more });
      }
      case 'an aggregate':
        return lie({ aggregates: [LIE_AGGREGATE] });
      case 'shares':
        return lie({ traits: [SHARING_TRAIT] });
    }
  };
}

async function novaBrings({ fleet, checker }: World, uuid: string): Promise<void> {
  const { stores, process } = fleet.member('nova');
  const commit = (command: Parameters<typeof stores.placement.commit>[0]) => stores.placement.commit(command);
  const about = { atMs: process.clock.now(), parentUuid: undefined, name: `nova-${uuid}` };
  try {
    const result = await commit({ kind: 'put_provider', mode: 'create', uuid, ...about });
    if (result.kind === 'committed') checker.ofNova.add(uuid);
  } catch {
    // The store is away.
  }
}

/** An agent shows again what was sealed for instances that ended, by claims that it makes up: at once, and when their records may be forgotten. */
export function replaysSeals(random: Random): Perform {
  const host = pick(random, HOSTS);
  const againMs = [0, 1, 2].map((n) => n * 5_000 + random.next() * 3_000);
  return (world) => {
    const { time } = world.fleet;
    const show = () => {
      report(world, host, ({ told }, machine) => {
        const ended = [...machine.remembered.values()].filter(({ uuid }) => !machine.disk.has(uuid));
        return { instances: [...told, ...ended.map((instance) => ({ ...asTold(instance), claimToken: 1 }))] };
      });
    };
    for (const afterMs of againMs) time.at(time.nowMs + afterMs, show);
  };
}

interface Truth {
  readonly told: readonly RunningInstance[];
  readonly epoch: number;
}

/** Sends a report that is true but for the lie, beside those of the agent itself. */
function report(
  { fleet, checker }: World,
  host: string,
  lie: (truth: Truth, machine: Machine) => Partial<UpdateResourceStatsRequest>,
  sender = agentOf(host),
): void {
  const row = checker.hosts.get(host);
  const machine = fleet.machines.get(host);
  if (row === undefined || machine === undefined) return;
  const { providerUuid, cell, serviceHost, epoch, sequence } = row;
  const stats: UpdateResourceStatsRequest = {
    host,
    providerUuid,
    cell,
    serviceHost,
    // Its numbers are its own, so that those of the agent itself are heard; and even, so that no two lies come in a row.
    agentRun: 'a liar',
    sequence: 2 * Math.ceil((sequence + 1) / 2),
    epoch,
    position: LIE_POSITION,
    ...machine.capacity(),
    nestedProviders: machine.capacity().nested.map((one) => ({ ...one, externalUsage: {} })),
    aggregates: undefined,
    externalUsage: {},
    externalInstances: 0,
    ioOps: 0,
    ...lie({ told: runsOn(machine), epoch }, machine),
  } as UpdateResourceStatsRequest;
  const options = { timeoutMs: 1_000, sender: agentSender(host) };
  const { bus, process } = fleet.member(sender);
  if (!process.isAlive) return;
  fleet.note(sender, `lies about ${host}`);
  // Another's agent is not believed, and excuses nothing.
  if (sender === agentOf(host)) checker.survivors.isLiedAbout(host);
  void confirmed(callMethod({ bus, queue: STATS }, updateResourceStatsMethod, stats, options));
}

function runsOn(machine: Machine): readonly RunningInstance[] {
  return [...machine.disk.values()].filter(({ uuid }) => machine.running.has(uuid)).map(asTold);
}

/** An instance of a journal, as its agent tells it. */
function asTold(one: TrackedInstance): RunningInstance {
  const { uuid, projectId, resources, allocations = {}, attempt, claimToken, allocationRequest } = one;
  const sealed = Buffer.from(allocationRequest ?? '', 'base64');
  return { ...anInstance(uuid, resources), allocations, projectId, attempt, claimToken, allocationRequest: sealed };
}

function anInstance(instanceUuid: string, resources: RunningInstance['resources']): RunningInstance {
  const nobody = { projectId: 'nobody', userId: '', name: '', groupId: '', requestId: '' };
  const claim = { attempt: 1, claimToken: 0, allocationRequest: new Uint8Array() };
  return { instanceUuid, resources, running: true, ...nobody, ...claim };
}
