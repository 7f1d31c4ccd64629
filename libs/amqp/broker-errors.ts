import { BerthError } from '../domain/errors';

/** Time limit of the broker's answer about a queue or a channel. */
export const ANSWER_TIMEOUT_MS = 10_000;

export function connectionLost(cause?: unknown): BerthError {
  return new BerthError('unavailable', 'connection_lost', 'the connection to the broker broke; retry', { cause });
}

export function noAnswer(queue: string): BerthError {
  return new BerthError('unavailable', 'broker_silent', `the broker does not answer about '${queue}'; retry later`);
}
