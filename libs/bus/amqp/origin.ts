import type { ConsumeMessage, Options } from 'amqplib';
import { cellOf, withoutCell } from '../../contracts/cells';
import { type Identity, identityOf, isRestricted, NOBODY, SERVICE, userOf } from '../../contracts/identity';
import { REPORTS_EXCHANGE, REQUESTS_EXCHANGE } from '../../contracts/queues';
import { isUuid } from '../../domain/names';
import { isDeadLetters } from '../port';

/**
 * Names the original sender of a message that a service republishes, dead-letters or resends. Believed from services
 * only.
 */
const USER_HEADER = 'berth-user';

/**
 * The sender of a message, derived from properties that RabbitMQ checks.
 *
 * The naive way believes `user-id`, which RabbitMQ compares with the publisher's user. It fails for a message that a
 * service republishes, which has the service's `user-id`; and for one without. The message's route settles the rest,
 * because permissions guard it: only services may write to the default exchange, and by an entrance each user has the
 * routing keys that end in its name. So:
 *
 * - by an entrance: the user, if the routing key ends in it (a tenant can have the broker dead-letter somebody else's
 *   message, or bind an exchange of its own, to an entrance; then it does not); a service's `user-id` vouches for the
 *   header;
 * - by the default exchange: a restricted `user-id` is the sender, since the broker may have moved the message there
 *   from another queue; a service's `user-id` vouches for the header; without `user-id` a service sent it, unless the
 *   broker has dead-lettered it or it has the header, which may be forged then;
 * - moved by the broker to anywhere but the dead letters: never a service's. A tenant may declare a queue of its own
 *   that hears a conductor's events and has the broker dead-letter them, with the conductor's `user-id`, to an entrance;
 * - any other way leads from no queue of Berth's.
 */
export function originOf(message: ConsumeMessage): Identity {
  const identity = senderOf(message);
  const isService = identity.kind === 'service';
  return isService && isMoved(message) && !isDeadLetters(message.fields.routingKey) ? NOBODY : identity;
}

/** True when the broker dead-lettered it, as headers show that no client can remove. */
function isMoved({ properties }: ConsumeMessage): boolean {
  const headers: Record<string, unknown> = properties.headers ?? {};
  return headers['x-death'] !== undefined || headers['x-first-death-queue'] !== undefined;
}

function senderOf({ fields, properties }: ConsumeMessage): Identity {
  const headers: Record<string, unknown> = properties.headers ?? {};
  const user: unknown = properties.userId;
  const sender = typeof user === 'string' && user !== '' ? identityOf(user, cellOfMessage(fields)) : undefined;
  switch (withoutCell(fields.exchange)) {
    case REQUESTS_EXCHANGE:
    case REPORTS_EXCHANGE: {
      if (sender === undefined || !fields.routingKey.endsWith(`.${withoutCell(String(user))}`)) return NOBODY;
      return sender.kind === 'service' ? heldOr(sender, headers[USER_HEADER]) : sender;
    }
    case '': {
      if (sender !== undefined && sender.kind !== 'service') return sender;
      const holder = headers[USER_HEADER];
      if (sender !== undefined) return heldOr(sender, holder);
      return holder === undefined && headers['x-death'] === undefined ? SERVICE : NOBODY;
    }
    default:
      return NOBODY;
  }
}

/** True when a service published it, though perhaps for somebody else: its headers about deliveries are Berth's. */
export function isOfService({ fields, properties }: ConsumeMessage): boolean {
  const user: unknown = properties.userId;
  return typeof user !== 'string' || user === '' || identityOf(user, cellOfMessage(fields)).kind === 'service';
}

/** The cell of the queue that a message was sent to, from its entrance or the queue's name. */
export function cellOfMessage({
  exchange,
  routingKey,
}: Pick<ConsumeMessage['fields'], 'exchange' | 'routingKey'>): string {
  return cellOf(exchange === '' ? routingKey : exchange);
}

/** Headers that preserve the original sender when a service forwards the message. */
export function onBehalfOf(identity: Identity | undefined): Options.Publish['headers'] {
  if (identity === undefined || identity.kind === 'service') return {};
  return { [USER_HEADER]: isRestricted(identity) ? userOf(identity) : '' };
}

/** The sender that a service's message names: the service itself, or the user in its header. */
function heldOr(service: Identity, holder: unknown): Identity {
  if (holder === undefined) return service;
  return typeof holder === 'string' && holder !== '' ? identityOf(holder) : NOBODY;
}

/**
 * True when only this user may read a queue by the broker's permissions (`broker-users.ts`): the user's prefix, and a
 * uuid.
 */
export function isPrivateQueueOf(user: string, queue: string): boolean {
  const prefix = privateQueuePrefix(user);
  return queue.startsWith(prefix) && isUuid(queue.slice(prefix.length));
}

/** Prefix of the queues that only this user may read. */
export function privateQueuePrefix(user: string): string {
  return `private.${user}.`;
}
