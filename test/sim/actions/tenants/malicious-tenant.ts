import { callMethod } from '#libs/bus/typed-calls';
import type { Method } from '#libs/contracts/codec';
import { explainInstanceMethod, explainMethod } from '#libs/contracts/diagnosis';
import { listInstancesMethod } from '#libs/contracts/instance';
import type { InstanceOperation } from '#libs/contracts/operations';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { type QueueAddress, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import { turnedUuid } from '#libs/domain/names';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { HOSTS } from '../../settings';
import { type Perform, pick, type World } from '../common';
import { noteAsked, operate, terminateNow } from '../operations';
import { requestIn, send, tenant } from './requests';

/*
 * A tenant who means harm sends all that its user of the broker may send, and names what is not its own: it knows the uuids of
 * others, as from a log that was shared.
 */

/** Where a uuid says what it is: its version, and its variant. */
const VERSION_AT = 14;
const VARIANT_AT = 19;

/**
 * It builds under a uuid that differs in a few bits from another's, resizes what it got, goes back or confirms, and ends it: what
 * Berth derives from that uuid (the consumers of a migration, of a reservation) may be the other's.
 */
export function buildsUnderDerived(random: Random): Perform {
  const who = tenant(random);
  const place = random.next();
  const isForeign = random.next() < 0.3;
  const [digitAt, bits] = pick(random, [
    [VERSION_AT, 8],
    [VERSION_AT, 8],
    [VARIANT_AT, 4],
    [VERSION_AT, 1 + randomInt(random, 15)],
    [VARIANT_AT, 1 + randomInt(random, 15)],
  ] as const);
  const alternatesHeld = random.next() < 0.3 ? ('reserved' as const) : undefined;
  const wishes: readonly InstanceOperation[] = ['resize', pick(random, ['revert', 'revert', 'confirm'] as const)];
  const startsMs = 1_500 + random.next() * 2_500;
  // Often while a scheduler is still asked.
  const gapMs = random.next() ** 3 * 3_000;
  const plain = requestIn(undefined, who, random, () => []);
  return (world) => {
    const victim = othersUuid(world, who, place, isForeign);
    if (victim === undefined) return;
    const uuid = turnedUuid(victim, digitAt, bits);
    const admission = alternatesHeld && { ...NO_ADMISSION, alternatesHeld };
    send(world, { ...plain, uuidsIn: () => [uuid], admission });
    wishes.forEach((wish, n) => world.fleet.later(startsMs + n * gapMs, () => operateOwn(world, uuid, wish, who)));
    world.fleet.later(startsMs + gapMs + 4_000, () => {
      if (world.checker.known.get(uuid)?.latest.projectId === who) terminateNow(world, uuid);
    });
  };
}

function operateOwn(world: World, uuid: string, wish: InstanceOperation, who: string): void {
  const latest = world.checker.known.get(uuid)?.latest;
  if (latest?.projectId !== who) return;
  noteAsked(world.checker, uuid, wish);
  const resizeTo = requestSpec({ VCPU: 1, MEMORY_MB: 512 }, { projectId: who, userId: 'user' });
  operate(world, latest, wish, false, wish === 'resize' ? { resizeTo } : {});
}

/** It builds with, and away from, instances of others, and under their uuids. */
export function buildsWithOthers(random: Random): Perform {
  const who = tenant(random);
  const place = random.next();
  const how = pick(random, ['sameHost', 'differentHost', 'uuid'] as const);
  const isForeign = random.next() < 0.2;
  const own = random.uuid();
  const plain = requestIn(undefined, who, random, () => [own]);
  return (world) => {
    const victim = othersUuid(world, who, place, isForeign);
    if (victim === undefined) return;
    if (how === 'uuid') return send(world, { ...plain, uuidsIn: () => [victim] });
    const spec = requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user', [how]: [victim] });
    if (how === 'sameHost') world.checker.companions.add(own);
    send(world, { ...plain, requestSpec: requestSpecCodec.encode(spec) });
  };
}

/** It asks all that it may ask, about others too, and looks for what is theirs in each answer; an agent asks the same at times. */
export function asksForOthers(random: Random): Perform {
  const who = tenant(random);
  const other = who === 'tenant-a' ? 'tenant-b' : 'tenant-a';
  const place = random.next();
  const host = pick(random, ['', ...HOSTS]);
  const mayPreempt = random.next() < 0.7;
  const VCPU = 1 + randomInt(random, 4);
  const unknown = random.uuid();
  const agent = random.next() < 0.4 ? pick(random, ['agent-h1', 'agent-h2'] as const) : undefined;
  return (world) => {
    for (const asker of agent === undefined ? [who] : [who, agent]) {
      const victim = othersUuid(world, asker, place, false) ?? unknown;
      asksAbout(world, { asker, other, victim, host, mayPreempt, VCPU });
    }
  };
}

interface Curiosity {
  readonly asker: string;
  readonly other: string;
  readonly victim: string;
  readonly host: string;
  readonly mayPreempt: boolean;
  readonly VCPU: number;
}

function asksAbout({ fleet, checker }: World, { asker, other, victim, host, mayPreempt, VCPU }: Curiosity): void {
  const calls = <Q, A>(
    queue: QueueAddress,
    method: Method<Q, A>,
    requests: readonly Q[],
    heard: (answer: A) => void = () => {},
  ) => {
    for (const request of requests) {
      callMethod({ bus: fleet.member(asker).bus, queue }, method, request, { timeoutMs: 1_000 }).then(
        (answer) => {
          checker.isTold(asker, answer);
          heard(answer);
        },
        (thrown: unknown) => {
          const { message, details } = BerthError.from(thrown);
          checker.isTold(asker, { message, details });
        },
      );
    }
  };
  const explained = (projectId: string, hints = {}, more = {}) => ({
    requestSpec: requestSpecCodec.encode(requestSpec({ VCPU }, { projectId, userId: 'user', ...hints })),
    host,
    limit: 10,
    priority: 10,
    mayPreempt,
    ...more,
  });
  const victims = { stayingInstanceUuids: [victim] };
  const displacing = explained(asker, {}, { ...victims, mayDisplace: true });
  const explaining = [explained(other), explained(asker), explained(asker, {}, victims), displacing];
  calls(RPC_SCHEDULER, explainMethod, explaining);
  for (const hint of ['sameHost', 'differentHost'] as const) {
    calls(RPC_SCHEDULER, explainMethod, [explained(asker, { [hint]: [victim] })], (told) =>
      checker.isLocated(asker, victim, told, hint === 'sameHost'),
    );
  }
  calls(RPC_SCHEDULER, explainInstanceMethod, [{ instanceUuid: victim }]);
  const all = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '', marker: '', limit: 0 };
  const requestId = checker.known.get(victim)?.latest.requestId ?? '';
  const asked = [{ projectId: other }, { instanceUuid: victim }, { host }, { requestId }, { marker: victim }];
  calls(
    RPC_CONDUCTOR,
    listInstancesMethod,
    [{}, ...asked].map((one) => ({ ...all, ...one })),
  );
  const operations: readonly InstanceOperation[] = ['stop', 'shelve', 'evacuate', 'confirm', 'revert'];
  const wishes = operations.map((operation) => ({ instanceUuid: victim, operation, version: 0 }));
  calls(RPC_CONDUCTOR, operateInstanceMethod, wishes);
}

/** The uuid of an instance of another project, or of the consumer of another service. */
function othersUuid({ checker }: World, who: string, place: number, isForeign: boolean): string | undefined {
  const others = [...checker.known.values()].map(({ latest }) => latest).filter(({ projectId }) => projectId !== who);
  const uuids = isForeign ? [...checker.foreign.keys()] : others.map(({ uuid }) => uuid);
  const uuid = uuids[Math.floor(place * uuids.length)];
  checker.named.add(`${who} ${uuid}`);
  return uuid;
}
