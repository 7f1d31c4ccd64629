import type { Client } from '#libs/client/client';
import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError, isRetryable } from '#libs/domain/errors';

/*
 * What carrying out a plan and undoing it have in common: how an instance is looked at until its move has ended.
 */

/** What a plan needs of a client. */
export type MovingClient = Pick<Client, 'instance' | 'operate'>;

export interface MovingParts {
  readonly client: MovingClient;
  readonly clock: Clock;
  /** When it aborts, nothing more is begun, and nothing is undone. */
  readonly signal: AbortSignal;
  /** After each move that has ended; then after each that was undone, with fewer. */
  readonly onProgress: (done: number) => void;
}

export interface MovingOptions {
  /** Instances that are moved at once. */
  readonly parallel: number;
  /** How long one move may take. */
  readonly timeoutMs: number;
}

/** How it went with one move. */
export interface Moved {
  readonly move: PlannedMove;
  /**
   * `not_confirmed`: it has arrived, and its source keeps what it had. `waits`: it is claimed, and was not begun. `ended`: its
   * instance was terminated, or shelved, meanwhile.
   */
  readonly outcome: 'moved' | 'not_confirmed' | 'failed' | 'waits' | 'undone' | 'not_undone' | 'ended';
  readonly why: string;
}

/** What comes of one look: an end, or to look again. */
export type Seen = { readonly kind: 'again' } | { readonly kind: 'end'; readonly moved: Moved };

export const AGAIN: Seen = { kind: 'again' };

/** Between two looks at an instance. */
const POLL_MS = 200;

/**
 * Looks at the instance of a move, again and again, and does what `act` does with what is seen, until that says that it has ended or
 * its time is over. Servers that are away may have done what they were asked, and what is refused may have changed before: it is looked
 * at again. What is refused twice in the same words is thrown.
 *
 * @returns undefined when its time was over before; then `why` of the last error, or ''
 * @throws BerthError what `act` was refused.
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
      if (!isRetryable(error) && why === refusedBefore) throw error;
      refusedBefore = why;
    }
    if (clock.elapsed() > untilMs) return { moved: undefined, why };
    await sleep(clock, POLL_MS);
  }
}

/** On its way, or confirming what is left at its source. */
export function isOnItsWay({ state, migration }: InstanceView): boolean {
  return ON_ITS_WAY.includes(state) || (AT_REST.includes(state) && migration !== undefined);
}

const AT_REST: readonly InstanceView['state'][] = ['active', 'stopped'];
const ON_ITS_WAY: readonly InstanceView['state'][] = ['resize', 'migrating', 'revert_resize'];

/** Nothing is left to move, or to take back. */
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
