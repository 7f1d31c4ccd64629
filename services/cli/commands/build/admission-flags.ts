import { isDeepStrictEqual } from 'node:util';
import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import { type Admission, MAX_PRIORITY, NO_ADMISSION } from '#libs/domain/queueing/admission';
import type { AlternatesHeld } from '#libs/domain/queueing/place-lease';
import { usageError } from '../../failure';

/** Adds the flags for waiting, preemption and lifetime of a request. */
export function addAdmissionFlags<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Waiting, preemption and lifetime:')
    .option('--wait-for-capacity <time>', 'wait, PENDING, instead of ending in ERROR; such as 10m', duration)
    .option('--priority <n>', `-${MAX_PRIORITY} to ${MAX_PRIORITY}, higher is served first; default 0`, asPriority)
    .option('--preempt', 'while it waits, preempt instances of lower priority', false)
    .option('--protect', 'never preempt it', false)
    .option('--requeue', 'when preempted, wait again instead of ending', false)
    .option('--time-limit <time>', 'terminate it this long after it is ACTIVE, such as 1h', duration)
    .addOption(
      new Option(
        '--alternates <how>',
        'hold its alternates until it is built: leased, other requests avoid them while they can; reserved, no other gets them',
      ).choices(['leased', 'reserved'] as const),
    )
    .addOption(
      new Option(
        '--confirm <whom>',
        'ask the host before it is selected; after a refusal or silence the next host is asked',
      ).choices(['host'] as const),
    );
}

/**
 * The admission of parsed flags; undefined without any.
 *
 * @throws BerthError `invalid_argument / usage` for flags that require a wait.
 */
export function admissionOf(flags: {
  readonly waitForCapacity?: number | undefined;
  readonly priority?: number | undefined;
  readonly preempt: boolean;
  readonly protect: boolean;
  readonly requeue: boolean;
  readonly timeLimit?: number | undefined;
  readonly alternates?: AlternatesHeld | undefined;
  readonly confirm?: 'host' | undefined;
}): Admission | undefined {
  const { waitForCapacity = 0, priority = 0, preempt, protect, requeue, timeLimit = 0, alternates, confirm } = flags;
  if (waitForCapacity === 0 && (preempt || requeue)) {
    throw usageError('--preempt and --requeue are for what waits', 'say how long, such as --wait-for-capacity 10m');
  }
  const admission: Admission = {
    priority,
    waitForCapacityMs: waitForCapacity,
    timeLimitMs: timeLimit,
    mayPreempt: preempt,
    isProtected: protect,
    isRequeued: requeue,
    ...(alternates ? { alternatesHeld: alternates } : {}),
    ...(confirm ? { confirmsHost: true } : {}),
  };
  return isDeepStrictEqual(admission, NO_ADMISSION) ? undefined : admission;
}

const UNITS: Readonly<Record<string, number>> = { '': 1_000, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90`, `90s`, `10m`, `2h` or `1d`. */
export function duration(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? 0);
  if (amount === '' || ms === 0) throw new InvalidArgumentError('It must be a time such as 90s, 10m, 2h or 1d.');
  return ms;
}

/** The parser of priorities. */
export function asPriority(text: string): number {
  const value = Number(text);
  if (/^-?\d+$/.test(text) && Math.abs(value) <= MAX_PRIORITY) return value;
  throw new InvalidArgumentError(`It must be a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}.`);
}
