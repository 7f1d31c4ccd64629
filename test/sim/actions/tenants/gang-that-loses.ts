import { requestSpecCodec } from '#libs/contracts/request-spec';
import { ON_LOSS } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { agentOf } from '../../settings';
import { pick, type World } from '../common';
import { operate } from '../operations';
import { send, tenant } from './requests';

/**
 * A gang with a policy for losses. Once it runs, one or two of its members are lost, some of them stopped or on a move: they exit, or
 * their host dies for a while, or gets a new machine.
 */
export function buildGangThatLoses(random: Random): (world: World) => void {
  const uuids = Array.from({ length: 2 + randomInt(random, 3) }, () => random.uuid());
  const who = tenant(random);
  const spec = requestSpecCodec.encode(requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user' }));
  const requestId = random.uuid();
  const onLoss = pick(random, ON_LOSS);
  const about = { who, requestId, uuidsIn: () => uuids, requestSpec: spec, onLoss };
  // A leader and its workers, or members alike.
  const workers = uuids.length - 1;
  const furtherMembers = [{ requestSpec: spec, count: workers, minCount: workers, name: 'worker' }];
  const ofKinds = { ...about, furtherMembers };
  const alike = { ...about, minCount: Math.max(1, uuids.length - randomInt(random, 2)) };
  const request = random.next() < 0.4 ? ofKinds : alike;
  const lost = uuids.slice(-1 - randomInt(random, 2));
  const afterMs = 3_000 + random.next() * 4_000;
  const betweenMs = random.next() ** 3 * 2_000;
  const how = pick(random, LOSSES);
  const before = lost.map(() => pick(random, [undefined, 'stop', 'migrate'] as const));
  const beforeMs = 200 + random.next() * 1_500;
  return (world) => {
    const { fleet } = world;
    send(world, request);
    for (const [n, uuid] of lost.entries()) {
      const atMs = afterMs + n * betweenMs;
      fleet.later(atMs - beforeMs, () => begin(world, uuid, before[n]));
      fleet.later(atMs, () => lose(world, uuid, how));
    }
  };
}

const LOSSES = ['exits', 'exits', 'dies', 'is replaced'] as const;

function begin(world: World, uuid: string, operation: 'stop' | 'migrate' | undefined): void {
  const latest = world.checker.known.get(uuid)?.latest;
  if (operation && latest?.state === 'active') operate(world, latest, operation, operation === 'migrate');
}

function lose({ fleet, checker }: World, uuid: string, how: (typeof LOSSES)[number]): void {
  const machine = [...fleet.machines.values()].find(({ running, stopped }) => running.has(uuid) || stopped.has(uuid));
  if (machine === undefined) return;
  if (how === 'exits') return machine.exit(uuid);
  fleet.kill(agentOf(machine.name), how === 'dies' ? DEAD_FOR_MS : 1_000);
  if (how === 'dies') return;
  fleet.note(machine.name, 'gets a new machine');
  for (const other of machine.running.keys()) checker.comesBack(other, machine.name);
  machine.replace();
}

/** Longer than it takes until a host counts as dead. */
const DEAD_FOR_MS = 30_000;
