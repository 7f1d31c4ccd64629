import { callMethod } from '#libs/bus/typed-calls';
import { listInstancesMethod } from '#libs/contracts/instance';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { wrongOrder } from '../watches/shown-queue';
import type { World } from './common';

/** Admission of a request: times are seconds, so that everything happens within a run. */
export function anAdmission(random: Random): Admission {
  const priority = randomInt(random, 7) - 3;
  const waitForCapacityMs = 2_000 + Math.floor(random.next() * 18_000);
  const alternatesHeld = HELD[waitForCapacityMs % HELD.length];
  return {
    ...NO_ADMISSION,
    priority,
    waitForCapacityMs,
    ...(alternatesHeld ? { alternatesHeld } : {}),
    ...(waitForCapacityMs % 5 === 0 ? { confirmsHost: true } : {}),
    timeLimitMs: random.next() < 0.3 ? 2_000 + Math.floor(random.next() * 10_000) : 0,
    isProtected: random.next() < 0.15,
    isRequeued: random.next() < 0.5,
  };
}

/** Chosen by a number that is drawn anyway. */
const HELD: readonly Admission['alternatesHeld'][] = [undefined, 'leased', 'reserved'];

/** Admission of a possible victim. */
export function ofACrowd(random: Random): Admission {
  const waitForCapacityMs = 10_000 + Math.floor(random.next() * 10_000);
  return {
    ...anAdmission(random),
    priority: -randomInt(random, 3),
    waitForCapacityMs,
    isRequeued: random.next() < 0.7,
  };
}

/** Admission of a preemptor. */
export function aPreemptor(random: Random): Admission {
  return { ...anAdmission(random), priority: 3 + randomInt(random, 3), mayPreempt: true };
}

/** Requests of a round are on record by then, and most still wait. */
const SHOWN_AFTER_MS = 3_000;

/** An operator has who waits shown, a while from now; a conductor that does not answer shows nothing wrong. */
export function looksAtQueue({ fleet, checker }: World): void {
  const { bus } = fleet.member('operator');
  const all = { instanceUuid: '', requestId: '', projectId: '', host: '', marker: '', limit: 0 };
  const request = { ...all, state: 'pending' as const };
  fleet.time.at(fleet.time.nowMs + SHOWN_AFTER_MS, () => {
    void callMethod({ bus, queue: RPC_CONDUCTOR }, listInstancesMethod, request, { timeoutMs: 1_000 }).then(
      ({ instances }) => {
        const wrong = wrongOrder(instances);
        if (wrong !== undefined) checker.fail('who waits and who makes room', wrong);
      },
      () => {},
    );
  });
}
