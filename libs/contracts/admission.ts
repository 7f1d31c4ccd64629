import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import {
  type Admission,
  MAX_PRIORITY,
  MAX_TIME_LIMIT_MS,
  MAX_VICTIMS,
  MAX_WAIT_MS,
} from '../domain/queueing/admission';
import type { AlternatesHeld } from '../domain/queueing/place-lease';
import { enumeration, hostName, hostNameOrEmpty, list, requiredName, uuid, uuids, whole } from './checks';
import type { Mutable } from './codec';
import { MAX_NAMES } from './limits';
import type { PreemptionView, Victim, WaitingView } from './messages';

const { ALTERNATES_HELD_UNSPECIFIED: NOT_HELD, ...HELD } = berth.scheduler.v1.AlternatesHeld;
const ALTERNATES_HELD = enumeration({
  leased: HELD.ALTERNATES_HELD_LEASED,
  reserved: HELD.ALTERNATES_HELD_RESERVED,
});

export function alternatesHeldToWire(held: AlternatesHeld | undefined): berth.scheduler.v1.AlternatesHeld {
  return held === undefined ? NOT_HELD : ALTERNATES_HELD.toWire(held);
}

export function alternatesHeldFromWire(
  value: berth.scheduler.v1.AlternatesHeld,
  field: string,
): AlternatesHeld | undefined {
  return value === NOT_HELD ? undefined : ALTERNATES_HELD.fromWire(value, field);
}

export function admissionToWire(admission: Admission | undefined): berth.conductor.v1.IAdmission | null {
  return admission ? { ...admission, alternatesHeld: alternatesHeldToWire(admission.alternatesHeld) } : null;
}

/** How a request waits, gives way and ends; undefined when it says nothing of it. */
export function admissionFromWire(
  value: berth.conductor.v1.IAdmission | null | undefined,
  field: string,
): Admission | undefined {
  if (!value) return undefined;
  const { priority, waitForCapacityMs, timeLimitMs, mayPreempt, isProtected, isRequeued, alternatesHeld } =
    value as berth.conductor.v1.Admission;
  const held = alternatesHeldFromWire(alternatesHeld, `${field}.alternates_held`);
  if (mayPreempt && waitForCapacityMs === 0) {
    const message = `${field}.may_preempt is for what waits: set wait_for_capacity_ms`;
    throw invalidArgument('preempts_without_waiting', message, `${field}.may_preempt`);
  }
  if (isRequeued && waitForCapacityMs === 0) {
    const message = `${field}.is_requeued is for what waits: set wait_for_capacity_ms`;
    throw invalidArgument('requeued_without_waiting', message, `${field}.is_requeued`);
  }
  return {
    priority: priorityFromWire(priority, `${field}.priority`),
    waitForCapacityMs: atMost(MAX_WAIT_MS, waitForCapacityMs, `${field}.wait_for_capacity_ms`),
    timeLimitMs: atMost(MAX_TIME_LIMIT_MS, timeLimitMs, `${field}.time_limit_ms`),
    mayPreempt,
    isProtected,
    isRequeued,
    ...(held ? { alternatesHeld: held } : {}),
  };
}

/** Who comes first. */
export function priorityFromWire(value: number, field: string): number {
  if (Math.abs(value) <= MAX_PRIORITY) return value;
  throw invalidArgument('bad_number', `${field} must be from -${MAX_PRIORITY} to ${MAX_PRIORITY}, not ${value}`, field);
}

/** What an instance waits for. */
export function waitingFromWire(
  value: berth.conductor.v1.IWaiting | null | undefined,
  field: string,
): WaitingView | undefined {
  if (!value) return undefined;
  const waiting = value as berth.conductor.v1.Waiting;
  return {
    sinceMs: whole(waiting.sinceMs, `${field}.since_ms`),
    untilMs: whole(waiting.untilMs, `${field}.until_ms`),
    waitsFor: list(waiting.waitsFor, `${field}.waits_for`, MAX_NAMES, requiredName),
    place: waiting.place,
    expectedAtMs: whole(waiting.expectedAtMs, `${field}.expected_at_ms`),
    preemptingOn: hostNameOrEmpty(waiting.preemptingOn, `${field}.preempting_on`),
    victims: uuids(waiting.victims, `${field}.victims`, MAX_VICTIMS),
    preemptingOnFurther: list(waiting.preemptingOnFurther, `${field}.preempting_on_further`, MAX_VICTIMS, hostName),
    reclaims: waiting.reclaims,
  };
}

export function preemptionToWire(preemption: PreemptionView | undefined): berth.scheduler.v1.IPreemption | null {
  if (!preemption) return null;
  const { host, victims, furtherHosts = [], reclaims = false } = preemption;
  return { host, victims: victims as Mutable<Victim>[], furtherHosts: furtherHosts as string[], reclaims };
}

export function preemptionFromWire(
  value: berth.scheduler.v1.IPreemption | null | undefined,
  field: string,
): PreemptionView | undefined {
  if (!value) return undefined;
  const { host, victims, furtherHosts, reclaims } = value as berth.scheduler.v1.Preemption;
  return {
    host: hostName(host, `${field}.host`),
    victims: list(victims, `${field}.victims`, MAX_VICTIMS, victimFromWire),
    furtherHosts: list(furtherHosts, `${field}.further_hosts`, MAX_VICTIMS, hostName),
    reclaims,
  };
}

function victimFromWire(value: berth.scheduler.v1.IVictim, field: string): Victim {
  const { instanceUuid, priority } = value as berth.scheduler.v1.Victim;
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    priority: priorityFromWire(priority, `${field}.priority`),
  };
}

function atMost(most: number, value: number, field: string): number {
  if (whole(value, field) <= most) return value;
  throw invalidArgument('bad_number', `${field} may be at most ${most}, not ${value}`, field);
}
