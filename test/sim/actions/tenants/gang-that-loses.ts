import { requestSpecCodec } from '#libs/contracts/request-spec';
import { ON_LOSS } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { agentOf } from '../../settings';
import { pick, type World } from '../common';
import { send, tenant } from './requests';

/** A gang with a policy for losses. Once it runs, one or two of its members exit, or a host of theirs dies for a while. */
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
  const dies = random.next() < 0.4;
  return (world) => {
    const { fleet } = world;
    send(world, request);
    for (const [n, uuid] of lost.entries()) fleet.later(afterMs + n * betweenMs, () => lose(world, uuid, dies));
  };
}

function lose({ fleet }: World, uuid: string, dies: boolean): void {
  const machine = [...fleet.machines.values()].find(({ running }) => running.has(uuid));
  if (machine === undefined) return;
  if (dies) fleet.kill(agentOf(machine.name), DEAD_FOR_MS);
  else machine.exit(uuid);
}

/** Longer than it takes until a host counts as dead. */
const DEAD_FOR_MS = 30_000;
