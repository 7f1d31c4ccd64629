import { BerthError, invalidArgument } from '../../domain/errors';
import { queueFull, tooManyWaiting } from '../errors';
import { notConnected } from './topology';

/**
 * What became of a published message.
 *
 * - `confirmed`  the broker has it
 * - `returned`   there is no such queue
 * - `refused`    the queue is full
 * - `unconfirmed`  the broker said nothing in time
 * - `lost`       the connection went before the broker said anything
 * - `unsent`     it never left the process: not connected
 * - `overload`   it never left the process: too many wait already
 *
 * An error is one of the message itself: it can't be encoded.
 */
export type Outcome = 'confirmed' | 'returned' | 'refused' | 'unconfirmed' | 'lost' | 'unsent' | 'overload' | Error;

/** Two outcomes mean something else to a call than to a cast. */
export interface Meanings {
  returned(queue: string): BerthError;
  lost(): BerthError;
}

/** What the sender is told. */
export function errorOf(outcome: Exclude<Outcome, 'confirmed'>, queue: string, meanings: Meanings): BerthError {
  switch (outcome) {
    case 'returned':
      return meanings.returned(queue);
    case 'lost':
      return meanings.lost();
    case 'refused':
      return queueFull(queue);
    case 'unconfirmed':
      return notConfirmed(queue);
    case 'unsent':
      return notConnected();
    case 'overload':
      return tooManyWaiting();
    default:
      return invalidArgument('not_encodable', `the message can not be encoded: ${outcome.message}`);
  }
}

function notConfirmed(queue: string): BerthError {
  return new BerthError(
    'unavailable',
    'not_confirmed',
    `the broker did not confirm a message to '${queue}' in time (BERTH_BUS_CONFIRM_TIMEOUT_MS); it may have it: send it again with the same id`,
  );
}
