import { cellOf, inCell } from '../contracts/cells';
import type { QueueSpec } from '../contracts/queues';
import { MAX_DEAD_LETTER_BYTES, MAX_DEAD_LETTERS } from './handling/dead-letter';
import { DEAD_LETTERS, isDeadLetters } from './port';

/** Time limit after which an unserved queue of calls is deleted. */
const UNSERVED_MS = 30 * 60_000;

/**
 * The arguments of a queue's declaration, equal in all processes; all queues are durable. Part of the wire contract
 * (`proto/README.md`).
 */
export function queueArguments({ name, kind, maxLength, deliveryLimit }: QueueSpec): Record<string, string | number> {
  // Above the limit the oldest dead letters go.
  if (isDeadLetters(name)) return { 'x-max-length': MAX_DEAD_LETTERS, 'x-max-length-bytes': MAX_DEAD_LETTER_BYTES };
  const refuse = maxLength === undefined ? {} : { 'x-max-length': maxLength, 'x-overflow': 'reject-publish' };
  const bury = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': inCell(cellOf(name), DEAD_LETTERS) };
  switch (kind) {
    case 'work': {
      const limit = deliveryLimit === undefined ? {} : { 'x-delivery-limit': deliveryLimit };
      return { 'x-queue-type': 'quorum', ...refuse, ...bury, ...limit };
    }
    case 'host':
      return { ...refuse, ...bury };
    // Its messages are transient; RabbitMQ 4.3 refuses queues that are transient themselves.
    case 'transient':
      return { 'x-expires': UNSERVED_MS, ...refuse };
  }
}
