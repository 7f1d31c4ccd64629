import { type BerthError, invalidArgument } from '../../domain/errors';
import { queueFull, tooManyWaiting } from '../refusals';
import { notConnected } from './topology';

/**
 * What became of a published message.
 *
 * - `confirmed`  the broker has it
 * - `returned`   there is no such queue
 * - `refused`    the queue is full
 * - `lost`       the connection went before the broker said anything
 * - `unsent`     it never left the process: not connected
 * - `overload`   it never left the process: too many wait already
 *
 * An error is one of the message itself: it can't be encoded.
 */
export type Outcome = 'confirmed' | 'returned' | 'refused' | 'lost' | 'unsent' | 'overload' | Error;

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
    case 'unsent':
      return notConnected();
    case 'overload':
      return tooManyWaiting();
    default:
      return invalidArgument('not_encodable', `the message can not be encoded: ${outcome.message}`);
  }
}
