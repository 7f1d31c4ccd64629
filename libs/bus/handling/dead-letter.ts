import { type QueueSpec, REPORTS_EXCHANGE } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import { DEAD_LETTERS } from '../port';
import type { Delivery } from './delivery';

/** Above this count the oldest are dropped. */
export const MAX_DEAD_LETTERS = 100_000;

/**
 * Limit of all bodies together, far below the broker's disk alarm, which blocks everyone; above it the oldest are
 * dropped.
 */
export const MAX_DEAD_LETTER_BYTES = 134_217_728;

/** The queue of dead letters. Adapters declare it without dead letters of its own. */
export const DEAD_LETTER_QUEUE: QueueSpec = {
  name: DEAD_LETTERS,
  kind: 'host',
  maxLength: MAX_DEAD_LETTERS,
  maxBytes: MAX_DEAD_LETTER_BYTES,
  entrance: { exchange: REPORTS_EXCHANGE, pattern: `${DEAD_LETTERS}.#` },
};

/**
 * Limit of a body that a dead letter keeps from a sender other than a service; a valid request or report fits. A larger
 * message is refused for its size, and not worth the memory and disk.
 */
const MAX_KEPT_BYTES = 1_048_576;
const NO_BODY = new Uint8Array();

type Buried = Pick<Delivery, 'body' | 'identity'>;

/** The body that a dead letter keeps: empty above the limit. */
export function keptBody({ body, identity }: Buried): Uint8Array {
  return identity.kind === 'service' || body.length <= MAX_KEPT_BYTES ? body : NO_BODY;
}

/** The header with the size of a dropped body. */
export function droppedBodyHeaders(buried: Buried): Record<string, string> {
  return keptBody(buried) === buried.body ? {} : { 'berth-dropped-bytes': String(buried.body.length) };
}

/** Brokers limit all headers together to one frame. */
const MAX_MESSAGE_CHARS = 2_000;

/** The headers of a dead letter: the reason, and its original queue. */
export function deadLetterHeaders(error: BerthError, queue: string): Record<string, string> {
  return {
    'berth-error-code': error.code,
    'berth-error-reason': error.reason,
    'berth-error-message': error.message.slice(0, MAX_MESSAGE_CHARS),
    'berth-queue': queue,
  };
}
