import { BerthError } from '../domain/errors';
import type { Readiness } from '../runtime/service';

/** Time limit of the broker's answer about a queue or a channel. */
export const ANSWER_TIMEOUT_MS = 10_000;

export function connectionLost(cause?: unknown): BerthError {
  return new BerthError('unavailable', 'connection_lost', 'the connection to the broker broke; retry', { cause });
}

/** True when the broker does not let this user in; amqplib distinguishes it by text alone. */
export function isLoginRefused({ message }: Error): boolean {
  return /Handshake terminated by server: 403/.test(message);
}

/** The readiness of a process without its connections: names no address, because anybody may ask. */
export function notConnected(...lastErrors: readonly (Error | undefined)[]): Readiness {
  const isRefused = lastErrors.some((error) => error !== undefined && isLoginRefused(error));
  const why = isRefused ? ': it refuses the user or the password' : '';
  return { ready: false, reason: `not connected to the broker${why}` };
}

export function noAnswer(queue: string): BerthError {
  return new BerthError('unavailable', 'broker_silent', `the broker does not answer about '${queue}'; retry later`);
}
