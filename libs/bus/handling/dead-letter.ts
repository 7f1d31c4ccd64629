import { type QueueSpec, REPORTS_EXCHANGE } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import { DEAD_LETTERS } from '../port';

/** When there are more, the oldest go. */
export const MAX_DEAD_LETTERS = 100_000;

/** Of all bodies together, above which the oldest go, too: far from where the broker's disk alarm stops everybody. */
export const MAX_DEAD_LETTER_BYTES = 134_217_728;

/** The queue of dead letters. Adapters declare it without dead letters of its own. */
export const DEAD_LETTER_QUEUE: QueueSpec = {
  name: DEAD_LETTERS,
  kind: 'host',
  maxLength: MAX_DEAD_LETTERS,
  maxBytes: MAX_DEAD_LETTER_BYTES,
  entrance: { exchange: REPORTS_EXCHANGE, pattern: `${DEAD_LETTERS}.#` },
};

/** Brokers limit the size of all headers together to one frame. */
const MAX_MESSAGE_CHARS = 2_000;

/** The headers of a dead letter: why it is one, and the queue that it came from. */
export function deadLetterHeaders(error: BerthError, queue: string): Record<string, string> {
  return {
    'berth-error-code': error.code,
    'berth-error-reason': error.reason,
    'berth-error-message': error.message.slice(0, MAX_MESSAGE_CHARS),
    'berth-queue': queue,
  };
}
