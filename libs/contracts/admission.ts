import type { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import {
  type Admission,
  MAX_PRIORITY,
  MAX_TIME_LIMIT_MS,
  MAX_VICTIMS,
  MAX_WAIT_MS,
} from '../domain/queueing/admission';
import { hostName, hostNameOrEmpty, list, requiredName, uuid, uuids, whole } from './checks';
import type { Mutable } from './codec';
import { MAX_NAMES } from './limits';
import type { PreemptionView, Victim, WaitingView } from './messages';

/**
 * How a request waits, gives way and ends; undefined when it says nothing of it.
 *
 * @param count  of its instances, where that is known: only for one at a time others make room
 */
export function admissionFromWire(
  value: berth.conductor.v1.IAdmission | null | undefined,
  field: string,
  count = 1,
): Admission | undefined {
  if (!value) return undefined;
  const { priority, waitForCapacityMs, timeLimitMs, mayPreempt, isProtected, isRequeued } =
    value as berth.conductor.v1.Admission;
  if (mayPreempt && (waitForCapacityMs === 0 || count > 1)) {
    const message = `${field}.may_preempt is for one instance that waits: set wait_for_capacity_ms, and count to 1`;
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
  };
}

export function preemptionToWire(preemption: PreemptionView | undefined): berth.scheduler.v1.IPreemption | null {
  return preemption ? { host: preemption.host, victims: preemption.victims as Mutable<Victim>[] } : null;
}

export function preemptionFromWire(
  value: berth.scheduler.v1.IPreemption | null | undefined,
  field: string,
): PreemptionView | undefined {
  if (!value) return undefined;
  const { host, victims } = value as berth.scheduler.v1.Preemption;
  return {
    host: hostName(host, `${field}.host`),
    victims: list(victims, `${field}.victims`, MAX_VICTIMS, victimFromWire),
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
