import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lru } from '#libs/runtime/lru';
import type { Authenticate, Principal } from './auth';
import { AuthError } from './auth-error';
import { headerOf } from './header';

/** Limit of the unknown tokens from one address within {@link WITHIN_MS}; then further ones wait. */
const MOST_GUESSES = 20;
const WITHIN_MS = 60_000;
/** Limit of the addresses, and of the good tokens, that a process remembers. */
const MAX_KEPT = 10_000;

/** Like `Authenticate`, for a request: its address is counted. */
export type AuthenticateRequest = (request: FastifyRequest, headers: IncomingHttpHeaders) => Promise<Principal>;

/**
 * Slows down whoever tries tokens. Only those that are not known count, of each address, and of IPv6 of each /64, for so much is one
 * sender's; a token that was good before passes, whoever else guesses from the same address.
 *
 * @throws AuthError  also 429, with `retry-after`, before the token is looked at
 */
export async function limitGuesses(app: FastifyInstance, authenticate: Authenticate): Promise<AuthenticateRequest> {
  await app.register(rateLimit, { global: false, max: MOST_GUESSES, timeWindow: WITHIN_MS, cache: MAX_KEPT });
  const guesses = app.createRateLimit();
  const good = lru<string, true>(MAX_KEPT);
  return async (request, headers) => {
    const token = headerOf(headers, 'x-auth-token') ?? '';
    if (token === '') return authenticate(headers);
    const hash = createHash('sha256').update(token).digest('base64');
    const before = await guesses(request, { increment: false });
    if (!before.isAllowed && before.remaining === 0 && !good.has(hash)) throw tooManyGuesses(before.ttlInSeconds);
    try {
      const principal = await authenticate(headers);
      good.set(hash, true);
      return principal;
    } catch (thrown) {
      if (thrown instanceof AuthError && thrown.status === 401) await guesses(request);
      throw thrown;
    }
  };
}

function tooManyGuesses(waitS: number): AuthError {
  const message = `too many unknown tokens came from this address: try again in ${waitS} s`;
  return new AuthError(429, message, { 'retry-after': String(waitS) });
}
