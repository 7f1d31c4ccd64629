import { withoutCell } from '../../contracts/cells';
import { sendsByEntrances } from '../../contracts/identity';
import { type QueueAddress, queueName } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';

/** The exchange and routing key that lead to a queue. */
export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

/**
 * Services write to queues by the default exchange; agents, tenants and consoles may not, and use the queue's entrance.
 *
 * @throws BerthError `permission_denied / no_entrance` for a queue that is closed to the user.
 */
export function routeTo(queue: QueueAddress, user: string): Route {
  const name = queueName(queue);
  if (!sendsByEntrances(user)) return { exchange: '', routingKey: name };
  const entrance = typeof queue === 'string' ? undefined : queue.entrance;
  if (entrance !== undefined) return { exchange: entrance.exchange, routingKey: entranceKey(name, user) };
  throw new BerthError('permission_denied', 'no_entrance', `the broker's user ${user} may not send to '${name}'`);
}

/** A user's routing key at a queue's entrance. The exchange belongs to the cell, so the key need not name it. */
function entranceKey(queue: string, user: string): string {
  return `${withoutCell(queue)}.${withoutCell(user)}`;
}
