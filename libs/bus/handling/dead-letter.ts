import { type QueueSpec, REPORTS_EXCHANGE } from '../../contracts/queues';
import type { BerthError } from '../../domain/errors';
import { DEAD_LETTERS } from '../port';
import type { Delivery } from './delivery';

/** When there are more, the oldest go. */
export const MAX_DEAD_LETTERS = 100_000;

/** Bound of all bodies together: above it the oldest go, too, far from where the broker's disk alarm stops everybody. */
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
 * The largest body that a dead letter keeps of a sender who is no service: as large as a request or a report may be. What is larger
 * is refused for that, and worth neither the memory nor the disk that it takes.
 */
const MAX_KEPT_BYTES = 1_048_576;
const NO_BODY = new Uint8Array();

type Buried = Pick<Delivery, 'body' | 'identity'>;

/** Largest body that a dead letter keeps. */
export function keptBody({ body, identity }: Buried): Uint8Array {
  return identity.kind === 'service' || body.length <= MAX_KEPT_BYTES ? body : NO_BODY;
}

/** Size of a body that its dead letter does not keep. */
export function droppedBodyHeaders(buried: Buried): Record<string, string> {
  return keptBody(buried) === buried.body ? {} : { 'berth-dropped-bytes': String(buried.body.length) };
}

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
