import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS, RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { setHostEnabledMethod } from '#libs/contracts/hosts';
import { BerthError } from '#libs/domain/errors';
import { type Random, randomInt, seededRandom, seedOf } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import type { Checker } from './checker';
import { type Fleet, SERVICES } from './fleet';

/** Something that the world does to the fleet. */
export interface Action {
  /** Its number in the plan of its seed, by which it is kept or left out. */
  readonly number: number;
  /** From the start of the run. */
  readonly afterMs: number;
  readonly kind: string;
  readonly perform: (world: World) => void;
}

export interface World {
  readonly fleet: Fleet;
  readonly checker: Checker;
}

/** In this time everything happens. The fleet has started by its beginning. */
export const HORIZON_MS = 30_000;
const START_UP_MS = 3_000;

type Kind = readonly [weight: number, prepare: (random: Random) => Action['perform']];

/** What can happen: how often compared with the others, and what it is, made of randomness of its own. */
const KINDS: Readonly<Record<string, Kind>> = {
  build: [30, build],
  'build again': [4, buildAgain],
  terminate: [14, terminate],
  'workload exits': [3, workloadExits],
  kill: [8, kill],
  'replace machine': [1, replaceMachine],
  restart: [4, restart],
  pause: [5, pause],
  'break connection': [8, breakConnection],
  'lose message': [12, loseMessage],
  'cut off': [5, cutOff],
  'slow down': [4, slowDown],
  'send twice': [6, sendTwice],
  'broker refuses': [2, brokerRefuses],
  'store away': [3, storeAway],
  'nova claims': [4, novaClaims],
  'nova releases': [2, novaReleases],
  'host disabled': [2, hostDisabled],
};

/** What happens in every run: it is what the fleet is for. */
const ALWAYS = ['build', 'terminate'];

/**
 * The plan of a seed. Each seed has some of the kinds and not others ("swarm testing": Groce and others, 2012), because
 * faults hide one another. Each action has randomness of its own, so that leaving one out changes no other.
 */
export function planOf(seed: number, actionCount: number): Action[] {
  const random = seededRandom(seedOf(`${seed} kinds`));
  const kinds = Object.entries(KINDS).filter(([name]) => ALWAYS.includes(name) || random.next() < 0.5);
  const sum = kinds.reduce((all, [, [weight]]) => all + weight, 0);
  const plan = Array.from({ length: actionCount }, (_, number) => {
    const own = seededRandom(seedOf(`${seed} action ${number}`));
    let left = own.next() * sum;
    const [name, [, prepare]] = kinds.find(([, [weight]]) => (left -= weight) < 0) ?? (kinds[0] as (typeof kinds)[0]);
    const afterMs = START_UP_MS + own.next() * (HORIZON_MS - START_UP_MS);
    return { number, afterMs, kind: name, perform: prepare(own) };
  });
  return plan.sort((a, b) => a.afterMs - b.afterMs);
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[randomInt(random, from.length)] as T;
}

const tenant = (random: Random) => pick(random, ['tenant-a', 'tenant-b']);

function build(random: Random): Action['perform'] {
  const who = tenant(random);
  const requestId = random.uuid();
  const uuids = Array.from({ length: 1 + randomInt(random, 3) }, () => random.uuid());
  const resources = { VCPU: 1 + randomInt(random, 2), MEMORY_MB: 256 };
  const policy = random.next() < 0.2 ? pick(random, ['affinity', 'anti-affinity'] as const) : undefined;
  const group = policy && { id: `${who}-${policy}`, policy, maxPerHost: 1 };
  return ({ fleet, checker }) => {
    const { bus } = fleet.member(who);
    const spec = requestSpecCodec.encode(requestSpec(resources, { projectId: who, userId: 'user', group }));
    const request = { requestId, requestSpec: spec, count: uuids.length, name: '', instanceUuids: uuids };
    const send = () => castTyped(bus, BUILD_REQUESTS, buildRequestCodec, request, { id: requestId });
    checker.requests.push({ uuids, send });
    void confirmed(send()).then((isConfirmed) => isConfirmed && checker.confirmed.set(requestId, uuids));
  };
}

function buildAgain(random: Random): Action['perform'] {
  const which = random.next();
  return ({ checker }) => {
    const { requests } = checker;
    void confirmed(requests[Math.floor(which * requests.length)]?.send());
  };
}

function terminate(random: Random): Action['perform'] {
  const which = random.next();
  const isMany = random.next() < 0.3;
  return ({ fleet, checker }) => {
    const all = checker.requests.flatMap(({ uuids }) => uuids);
    const first = Math.floor(which * all.length);
    for (const instanceUuid of all.slice(first, first + (isMany ? 4 : 1))) {
      checker.terminated.add(instanceUuid);
      const { bus } = fleet.member('tenant-a');
      void confirmed(castTyped(bus, BUILD_REQUESTS, terminateInstanceCodec, { instanceUuid, projectId: '' }));
    }
  };
}

function workloadExits(random: Random): Action['perform'] {
  const which = random.next();
  return ({ fleet }) => {
    const all = [...fleet.machines.values()].flatMap((machine) =>
      [...machine.running.keys()].map((uuid) => ({ machine, uuid })),
    );
    const one = all[Math.floor(which * all.length)];
    one?.machine.exit(one.uuid);
  };
}

function kill(random: Random): Action['perform'] {
  const who = pick(random, SERVICES);
  const restartAfterMs = 50 + random.next() * 4_000;
  return ({ fleet }) => fleet.kill(who, restartAfterMs);
}

function replaceMachine(random: Random): Action['perform'] {
  const agent = pick(random, ['agent-h1', 'agent-h2']);
  return ({ fleet }) => {
    fleet.kill(agent, 1_000);
    fleet.note(agent, 'gets a new machine');
    fleet.machines.get(agent.slice('agent-'.length))?.replace();
  };
}

function restart(random: Random): Action['perform'] {
  const who = pick(random, SERVICES);
  return ({ fleet }) => void fleet.restart(who);
}

function pause(random: Random): Action['perform'] {
  const who = pick(random, SERVICES);
  const forMs = 100 + random.next() * 8_000;
  return ({ fleet }) => {
    const { process } = fleet.member(who);
    fleet.note(who, `stands still for ${Math.round(forMs)} ms`);
    process.pause();
    fleet.later(forMs, () => process.resume());
  };
}

const aLink = (random: Random) => {
  const who = pick(random, SERVICES);
  const which = randomInt(random, 2);
  return ({ fleet }: World) => fleet.member(who).links[which];
};

function breakConnection(random: Random): Action['perform'] {
  const link = aLink(random);
  return (world) => link(world)?.break('the network');
}

function loseMessage(random: Random): Action['perform'] {
  const link = aLink(random);
  const direction = pick(random, ['out', 'back'] as const);
  const after = 1 + randomInt(random, 8);
  return (world) => link(world)?.breakAfter(direction, after);
}

/** After this long without a heartbeat both sides take a connection as broken. */
const HEARTBEAT_MS = 5_000;

function cutOff(random: Random): Action['perform'] {
  const link = aLink(random);
  const forMs = 200 + random.next() * 9_000;
  return (world) => {
    const cut = link(world);
    if (cut === undefined || cut.isCut) return;
    cut.cut();
    world.fleet.later(HEARTBEAT_MS, () => cut.isCut && cut.break('no heartbeat'));
    world.fleet.later(forMs, () => cut.heal());
  };
}

function slowDown(random: Random): Action['perform'] {
  const link = aLink(random);
  const extraMs = 20 + random.next() * 1_500;
  const forMs = 500 + random.next() * 8_000;
  return (world) => {
    const slow = link(world);
    if (slow === undefined) return;
    slow.extraMs = extraMs;
    world.fleet.later(forMs, () => {
      slow.extraMs = 0;
    });
  };
}

function sendTwice(random: Random): Action['perform'] {
  const who = pick(random, [...SERVICES, 'tenant-a']);
  return ({ fleet }) => fleet.member(who).bus.duplicateNext();
}

function brokerRefuses(random: Random): Action['perform'] {
  const forMs = random.next() * 3_000;
  const isFull = random.next() < 0.5;
  const refusal = isFull
    ? new BerthError('resource_exhausted', 'queue_full', 'the queue is full')
    : new BerthError('unavailable', 'broker_blocked', 'the broker is short of memory');
  return ({ fleet }) => {
    fleet.note('broker', `refuses: ${refusal.reason}`);
    fleet.broker.refusal = refusal;
    fleet.later(forMs, () => {
      fleet.broker.refusal = undefined;
    });
  };
}

function storeAway(random: Random): Action['perform'] {
  const forMs = random.next() * 4_000;
  return ({ fleet }) => {
    fleet.note('store', 'is away');
    fleet.server.refusal = new BerthError('unavailable', 'store_away', 'the store is away');
    fleet.later(forMs, () => {
      fleet.server.refusal = undefined;
      fleet.note('store', 'is back');
    });
  };
}

function novaClaims(random: Random): Action['perform'] {
  const uuid = random.uuid();
  const host = pick(random, ['h1', 'h2', 'rack-1', 'rack-2']);
  const VCPU = 1 + randomInt(random, 2);
  return ({ checker }) => {
    const row = checker.hosts.get(host);
    if (row) void confirmed(checker.claimAsNova(uuid, { [row.providerUuid]: { VCPU } }));
  };
}

function novaReleases(random: Random): Action['perform'] {
  const which = random.next();
  return ({ checker }) => {
    const all = [...checker.foreign.keys()];
    const uuid = all[Math.floor(which * all.length)];
    if (uuid !== undefined) void confirmed(checker.claimAsNova(uuid, {}));
  };
}

function hostDisabled(random: Random): Action['perform'] {
  const host = pick(random, ['h1', 'h2', 'rack-1', 'rack-2']);
  const forMs = 1_000 + random.next() * 8_000;
  return ({ fleet }) => {
    const { bus } = fleet.member('operator');
    const set = (enabled: boolean) => {
      const request = { host, enabled, reason: enabled ? '' : 'an operator' };
      void confirmed(callMethod(bus, RPC_SCHEDULER, setHostEnabledMethod, request, { timeoutMs: 1_000 }));
    };
    set(false);
    fleet.later(forMs, () => set(true));
  };
}

/** Whether it went through: clients of the fleet do not care why not. */
async function confirmed(sent: Promise<unknown> | undefined): Promise<boolean> {
  try {
    await sent;
    return true;
  } catch {
    return false;
  }
}
