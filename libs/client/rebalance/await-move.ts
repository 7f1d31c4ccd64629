import type { Client } from '#libs/client/client';
import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { isOverBudget } from '#libs/domain/grouping/disruption-budget';

/*
 * Shared by carrying out and undoing a plan: looks at an instance until its move has ended.
 */

/** The client methods that moving uses. */
export type MovingClient = Pick<Client, 'instance' | 'operate'>;

export interface MovingParts {
  readonly client: MovingClient;
  readonly clock: Clock;
  /** Once it aborts, nothing more begins, and nothing is undone. */
  readonly signal: AbortSignal;
  /** Called after each move that has ended; during an undo with decreasing numbers. */
  readonly onProgress: (done: number) => void;
}

export interface MovingOptions {
  /** Limit of the instances moved at once. */
  readonly parallel: number;
  /** Time limit of one move. */
  readonly timeoutMs: number;
}

/** The outcome of one move. */
export interface Moved {
  readonly move: PlannedMove;
  /**
   * `not_confirmed`: it has arrived, and its source keeps the old copy. `waits`: it is claimed and has not begun.
   * `ended`: its instance was terminated, or shelved, meanwhile.
   */
  readonly outcome: 'moved' | 'not_confirmed' | 'failed' | 'waits' | 'undone' | 'not_undone' | 'ended';
  readonly why: string;
}

/** The result of one look: an end, or another look. */
export type Seen = { readonly kind: 'again' } | { readonly kind: 'end'; readonly moved: Moved };

export const AGAIN: Seen = { kind: 'again' };

/** Interval between looks at an instance. */
const POLL_MS = 200;

/**
 * Looks at a move's instance repeatedly, and acts on what it sees with `act`, until that ends or its time limit passes.
 * An unavailable server may have executed a request, and a refused instance may have changed before: then it looks
 * again. The same refusal twice in the same words is thrown.
 *
 * @returns undefined after the time limit; then `why` of the last error, or ''
 * @throws BerthError the refusal of `act`.
 */
export async function lookUntil(
  { client, clock }: MovingParts,
  { instanceUuid }: PlannedMove,
  timeoutMs: number,
  act: (instance: InstanceView) => Promise<Seen>,
): Promise<{ readonly moved: Moved } | { readonly moved: undefined; readonly why: string }> {
  const untilMs = clock.elapsed() + timeoutMs;
  let refusedBefore: string | undefined;
  for (;;) {
    let why = '';
    try {
      const seen = await act(await client.instance(instanceUuid));
      if (seen.kind === 'end') return { moved: seen.moved };
    } catch (thrown) {
      const error = BerthError.from(thrown);
      why = sentenceOf(error);
      const mayPass = isRetryable(error) || isOverBudget(error);
      if (!mayPass && why === refusedBefore) throw error;
      refusedBefore = why;
    }
    if (clock.elapsed() > untilMs) return { moved: undefined, why };
    await sleep(clock, POLL_MS);
  }
}

/** True during a move, and while its source is being confirmed. */
export function isOnItsWay({ state, migration }: InstanceView): boolean {
  return ON_ITS_WAY.includes(state) || (AT_REST.includes(state) && migration !== undefined);
}

const AT_REST: readonly InstanceView['state'][] = ['active', 'stopped'];
const ON_ITS_WAY: readonly InstanceView['state'][] = ['resize', 'migrating', 'revert_resize'];

/** True when there is nothing left to move or to revert. */
export function isOver({ state }: InstanceView): boolean {
  return OVER.includes(state);
}

const OVER: readonly InstanceView['state'][] = ['deleting', 'deleted', 'shelving', 'shelved_offloaded'];

export function ended(move: PlannedMove, { state }: InstanceView): Seen {
  return { kind: 'end', moved: { move, outcome: 'ended', why: `it is ${state}` } };
}

export function faultOf({ fault, state, host }: InstanceView): string {
  return fault ? `${fault.reason}: ${fault.message}` : `it is ${state} on ${host}`;
}

export function sentenceOf(thrown: unknown): string {
  const { reason, message } = BerthError.from(thrown);
  return `${reason}: ${message}`;
}
