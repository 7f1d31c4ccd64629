import { DEAD_LETTER_QUEUE } from '../bus/handling/dead-letter';
import { ACK, type Bus, type IncomingMessage, REQUEUE, type Settlement } from '../bus/port';
import { withoutCell } from '../contracts/cells';
import { BUILD_REQUESTS, BUILD_RESULTS, type QueueAddress } from '../contracts/queues';
import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';

/** A message that could not be handled, with the reason. */
export interface DeadLetter {
  readonly id: string;
  readonly type: string;
  readonly sender: string;
  /** Its original queue. */
  readonly queue: string;
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly bytes: number;
}

/** A dead letter that its queue did not take back. */
export interface Refused {
  readonly id: string;
  readonly error: BerthError;
}

/** The action on a dead letter: leave it, send it to its queue again, or delete it. */
export type Action = 'leave' | 'requeue' | 'discard';

/** The queue counts as empty after this long without a message. */
const QUIET_MS = 500;

/**
 * Reads at most `limit` dead letters, oldest first, and applies the action of `decide` to each. The remaining ones are
 * held unacknowledged until the end, so that each is seen once. A requeued one is acknowledged after the broker has
 * confirmed its copy; if its queue refuses it, it stays.
 *
 * @returns the error for each that its queue refused
 */
export async function visitDeadLetters(
  bus: Bus,
  clock: Clock,
  limit: number,
  decide: (letter: DeadLetter) => Action,
): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  const visited = { count: 0, lastMs: clock.elapsed() };
  let giveBack = () => {};
  const ended = new Promise<Settlement>((resolve) => {
    giveBack = () => resolve(REQUEUE);
  });
  const visit = async (message: IncomingMessage): Promise<Settlement> => {
    if (visited.count >= limit) return ended;
    visited.count += 1;
    visited.lastMs = clock.elapsed();
    const letter = letterOf(message);
    const action = decide(letter);
    if (action === 'discard') return ACK;
    if (action === 'leave' || letter.queue === '') return ended;
    const { type, body, sender, id, identity } = message;
    const options = { id, onBehalfOf: identity };
    const outgoing = { type, body, ...(sender === '' ? {} : { sender }) };
    return bus.cast(addressOf(letter.queue), outgoing, options).then(
      () => ACK,
      (thrown: unknown) => {
        refused.push({ id: letter.id, error: BerthError.from(thrown) });
        return ended;
      },
    );
  };
  const subscription = await bus.consume(DEAD_LETTER_QUEUE, visit, { prefetch: limit });
  while (clock.elapsed() - visited.lastMs < QUIET_MS && visited.count < limit) await sleep(clock, QUIET_MS / 5);
  // Requeued messages may be delivered again before the consumer is cancelled.
  visited.count = limit;
  const cancelled = subscription.cancel();
  giveBack();
  await cancelled;
  return refused;
}

/** The queue, with its entrance if others than services may send to it. */
function addressOf(queue: string): QueueAddress {
  return [BUILD_REQUESTS, BUILD_RESULTS].find(({ name }) => name === withoutCell(queue)) ?? queue;
}

function letterOf({ id, type, sender, body, headers = {} }: IncomingMessage): DeadLetter {
  const header = (name: string) => headers[`berth-${name}`] ?? '';
  return {
    id,
    type,
    sender,
    queue: header('queue'),
    code: header('error-code'),
    reason: header('error-reason'),
    message: header('error-message'),
    bytes: body.length,
  };
}
