import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { MAX_PRIORITY, MAX_TIME_LIMIT_MS, MAX_VICTIMS, MAX_WAIT_MS } from '../domain/queueing/admission';
import { between, hostName, hostNameOrEmpty, requiredName, uuid, uuidsUpTo, whole } from './checks';
import type { Check } from './field';
import { ruled } from './field-rules';
import { count, enumOf, flag, list, omittable, optional } from './fields';
import { MAX_NAMES } from './limits';
import { message, type PlainOf } from './message';

/** The hold on an instance's alternates; none when not given. */
export const alternatesHeld = enumOf(berth.scheduler.v1.AlternatesHeld, 'ALTERNATES_HELD');

/** Priority: the higher first. */
export const priority = between(-MAX_PRIORITY, MAX_PRIORITY);

/** Time from the first ACTIVE until an instance is terminated, at most a year; 0: it lasts. */
export const timeLimit = atMost(MAX_TIME_LIMIT_MS);

/** Rules by which a request waits, gives way and ends. */
export const admission = message(
  berth.conductor.v1.Admission,
  {
    priority,
    waitForCapacityMs: atMost(MAX_WAIT_MS),
    timeLimitMs: timeLimit,
    mayPreempt: flag,
    isProtected: flag,
    isRequeued: flag,
    alternatesHeld: optional(alternatesHeld),
    confirmsHost: optional(flag),
  },
  {
    check({ waitForCapacityMs, mayPreempt, isRequeued }, path) {
      if (waitForCapacityMs > 0) return;
      if (mayPreempt) throw withoutWaiting('preempts_without_waiting', `${path}.may_preempt`);
      if (isRequeued) throw withoutWaiting('requeued_without_waiting', `${path}.is_requeued`);
    },
  },
);

/** The number by which a request stands among those of its priority, the lowest first: (patience x (now + lately) + ahead) / weight. */
const standing = message(berth.conductor.v1.Standing, {
  number: count,
  now: count,
  lately: count,
  weight: whole,
  ahead: count,
  patience: count,
  halfLifeMs: whole,
});
export type StandingView = PlainOf<typeof standing>;

/** The reasons for which an instance waits. */
export const waiting = message(berth.conductor.v1.Waiting, {
  sinceMs: whole,
  untilMs: whole,
  waitsFor: list(requiredName, MAX_NAMES),
  place: count,
  expectedAtMs: whole,
  preemptingOn: hostNameOrEmpty,
  victims: uuidsUpTo(MAX_VICTIMS),
  preemptingOnFurther: list(hostName, MAX_VICTIMS),
  reclaims: flag,
  standing: optional(standing),
});
export type WaitingView = PlainOf<typeof waiting>;

const victim = message(berth.scheduler.v1.Victim, { instanceUuid: uuid, priority });
export type Victim = PlainOf<typeof victim>;

/** Instances whose place a request could take. */
export const preemption = message(berth.scheduler.v1.Preemption, {
  host: hostName,
  victims: list(victim, MAX_VICTIMS),
  furtherHosts: omittable(list(hostName, MAX_VICTIMS)),
  reclaims: omittable(flag),
});
export type PreemptionView = PlainOf<typeof preemption>;

function atMost(most: number): Check<number, number> {
  return ruled({ lte: most }, (value: number, path: string) => {
    if (whole(value, path) <= most) return value;
    throw invalidArgument('bad_number', `${path} may be at most ${most}, not ${value}`, path);
  });
}

function withoutWaiting(reason: string, path: string) {
  return invalidArgument(reason, `${path} is for what waits: set wait_for_capacity_ms`, path);
}
