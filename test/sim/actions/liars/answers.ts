import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { powerReportCodec } from '#libs/contracts/power';
import { agentSender, BUILD_RESULTS, STATS } from '#libs/contracts/queues';
import { answerHostMethod } from '#libs/contracts/selection';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { FORGED } from '../../checker';
import { agentOf, HOSTS } from '../../settings';
import type { Question } from '../../watches/confirm-watch';
import { confirmed, instanceAt, type Perform, pick, type World } from '../common';
import { LIE_POSITION } from './reports';

/** Time for which a liar answers the questions of schedulers to others. */
const LIES_FOR_MS = 15_000;
const CALL = { timeoutMs: 1_000 };

/**
 * An agent answers what schedulers ask another's host, before that host does, and once more when nobody waits: that it has the room, in its
 * name and in its own.
 */
export function answersForAnother(random: Random): Perform {
  const liar = pick(random, ['h1', 'h2'] as const);
  const lateMs = random.next() * 3_000;
  return ({ fleet, checker }) => {
    const { time } = fleet;
    const say = (askId: string, host: string) => {
      const { bus, process } = fleet.member(agentOf(liar));
      if (!process.isAlive) return;
      const epoch = checker.hosts.get(host)?.epoch ?? 0;
      const answer = { askId, host, epoch, reason: '', message: FORGED };
      const options = { ...CALL, sender: agentSender(liar) };
      void confirmed(callMethod({ bus, queue: STATS }, answerHostMethod, answer, options));
    };
    const onQuestion = ({ id, host }: Question) => {
      if (agentOf(host) === agentOf(liar)) return;
      for (const name of [host, liar]) {
        say(id, name);
        time.at(time.nowMs + lateMs, () => say(id, name));
      }
    };
    checker.confirming.onQuestion.add(onQuestion);
    time.at(time.nowMs + LIES_FOR_MS, () => checker.confirming.onQuestion.delete(onQuestion));
  };
}

/**
 * An agent answers, in the name of its own host, orders about an instance that another host has, or was given: at once, and later. It says that
 * it is built, failed, lost or gone, stopped or started, by the attempt and the claim that the record has.
 */
export function answersForOthersInstances(random: Random): Perform {
  const host = pick(random, HOSTS);
  const place = random.next();
  const outcome = pick(random, ['active', 'failed', 'refused', 'lost', 'destroyed'] as const);
  const powerState = pick(random, ['running', 'shutdown'] as const);
  const againMs = [0, 500 + random.next() * 6_000];
  return (world) => {
    const { uuid } = instanceAt(world, place) ?? {};
    if (uuid === undefined) return;
    const { time } = world.fleet;
    const answer = () => {
      const instance = world.checker.known.get(uuid)?.latest;
      if (instance === undefined || wasOn(instance, host)) return;
      const about = { ...answerOf(world, instance, host), reason: FORGED, message: FORGED };
      tell(world, host, (to) => castTyped(to, buildReportCodec, { ...about, alternates: [], outcome }, as(host)));
      const restsOn = { restsOnEpoch: LIE_POSITION, restsOnPosition: LIE_POSITION };
      const migrationUuid = instance.migration?.uuid ?? '';
      const power = { ...about, reason: '', powerState, ...restsOn, migrationUuid };
      tell(world, host, (to) => castTyped(to, powerReportCodec, power, as(host)));
    };
    for (const afterMs of againMs) time.at(time.nowMs + afterMs, answer);
  };
}

/** An agent says what schedulers say: that another's host was heard in full, twice, and lacks an instance. */
export function saysWhatWasHeard(random: Random): Perform {
  const host = pick(random, HOSTS);
  const place = random.next();
  const firstSequence = 1_000_000 + randomInt(random, 1_000_000);
  return (world) => {
    const { checker, fleet } = world;
    const instance = instanceAt(world, place);
    const of = checker.hosts.get(instance?.host ?? '');
    if (instance === undefined || of === undefined || agentOf(of.name) === agentOf(host)) return;
    const { name, providerUuid, serviceHost, epoch } = of;
    const nowMs = fleet.member(agentOf(host)).process.clock.now();
    const lacking = { unclaimed: [], present: [], missing: [instance.uuid], atMs: nowMs, saidAfterMs: nowMs };
    const heard = { host: name, providerUuid, serviceHost, epoch, position: LIE_POSITION, ...lacking };
    for (const n of [0, 1]) {
      const discrepancy = { ...heard, sequence: firstSequence + n };
      tell(world, host, (to) => castTyped(to, hostDiscrepancyCodec, discrepancy, as(host)));
    }
  };
}

function answerOf({ checker }: World, instance: Instance, host: string) {
  const { uuid: instanceUuid, claimToken = 0 } = instance;
  const epoch = checker.hosts.get(host)?.epoch ?? 0;
  return { instanceUuid, host, attempt: attemptNumber(instance), claimToken, epoch, position: LIE_POSITION };
}

/** True where its agent may have something of the instance: there it is an authority. */
function wasOn({ host: own, migration, attempts }: Instance, host: string): boolean {
  const ends = [own, migration?.source.host, migration?.destination.host];
  return ends.includes(host) || attempts.some((one) => one.host === host);
}

function as(host: string) {
  return { sender: agentSender(host) };
}

type Address = Parameters<typeof castTyped>[0];

function tell({ fleet }: World, host: string, send: (to: Address) => Promise<void>): void {
  const { bus, process } = fleet.member(agentOf(host));
  if (process.isAlive) void confirmed(send({ bus, queue: BUILD_RESULTS }));
}
