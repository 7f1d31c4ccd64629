import { DEAD_LETTER_QUEUE } from '#libs/bus/dead-letter';
import { ACK, type Bus, type IncomingMessage, REQUEUE, type Settlement } from '#libs/bus/port';
import { type Clock, sleep } from '#libs/domain/clock';

/** A message that nobody could handle, and why. */
export interface DeadLetter {
  readonly id: string;
  readonly type: string;
  readonly sender: string;
  /** The queue that it came from. */
  readonly queue: string;
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly bytes: number;
}

/** What to do with one: leave it where it is, or send it to its queue again. */
export type Verdict = 'leave' | 'requeue';

/** No more messages for this long: all that fit the limit have come. */
const QUIET_MS = 500;

/**
 * Goes through the dead letters, oldest first, at most `limit` of them, and does with each what `decide` says. Those
 * that stay are held until the end and then given back, so that each is seen once. One that is requeued stays until the
 * broker has it in its queue.
 */
export async function visitDeadLetters(
  bus: Bus,
  clock: Clock,
  limit: number,
  decide: (letter: DeadLetter) => Verdict,
): Promise<void> {
  const visited = { count: 0, lastMs: clock.now() };
  let giveBack = () => {};
  const ended = new Promise<Settlement>((resolve) => {
    giveBack = () => resolve(REQUEUE);
  });
  const visit = async (message: IncomingMessage): Promise<Settlement> => {
    if (visited.count >= limit) return ended;
    visited.count += 1;
    visited.lastMs = clock.now();
    const letter = letterOf(message);
    if (decide(letter) === 'leave' || letter.queue === '') return ended;
    const { type, body, sender, id } = message;
    await bus.cast(letter.queue, { type, body, ...(sender === '' ? {} : { sender }) }, { id });
    return ACK;
  };
  const subscription = await bus.consume(DEAD_LETTER_QUEUE, visit, { prefetch: limit });
  while (clock.now() - visited.lastMs < QUIET_MS && visited.count < limit) await sleep(clock, QUIET_MS / 5);
  // What is given back may come again before the consumer is gone.
  visited.count = limit;
  const cancelled = subscription.cancel();
  giveBack();
  await cancelled;
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
