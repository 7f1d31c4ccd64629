import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Log } from '#libs/runtime/log';
import { HttpError } from '../http/http-error';
import { headerOf } from './headers';
import type { Authenticate } from './principal';
import { readTokenFile, type StaticToken, sha256Of } from './token-file';

/**
 * Knows the tokens of a file. The file may change at any time: a request that comes `checkMs` after the last look waits
 * for another look, so a token that was taken out is refused from then on. A file that is broken or gone changes nothing:
 * the tokens read last stay good, and the log says so once.
 *
 * @throws BerthError `invalid_argument / bad_tokens_file` when the file is no good at the start.
 */
export async function openStaticTokens(
  path: string,
  { checkMs, clock, log }: { readonly checkMs: number; readonly clock: Clock; readonly log: Log },
): Promise<Authenticate> {
  let seen = await versionOf(path);
  let tokens = await readTokenFile(path);
  let lookedAtMs = clock.now();
  let looking: Promise<void> | undefined;

  const look = async () => {
    const version = await versionOf(path);
    if (version === seen) return;
    seen = version;
    try {
      tokens = await readTokenFile(path);
      log.info({ path, tokens: tokens.length }, 'read the changed file of tokens');
    } catch (thrown) {
      const { reason, message, details } = BerthError.from(thrown);
      log.error({ path, reason, ...details }, `keeps the old tokens, for the changed file is no good: ${message}`);
    }
  };
  const lookWhenDue = async () => {
    if (looking === undefined && clock.now() - lookedAtMs >= checkMs) {
      lookedAtMs = clock.now();
      looking = look().finally(() => {
        looking = undefined;
      });
    }
    await looking;
  };

  return async (headers) => {
    await lookWhenDue();
    const token = headerOf(headers, 'x-auth-token');
    if (token === undefined) throw new HttpError(401, 'A token is needed: x-auth-token');
    const found = find(tokens, token);
    if (found === undefined) throw new HttpError(401, 'The token is not known.');
    return found.principal;
  };
}

/** Looks at every token, and at hashes only, so that the time it takes tells nothing about any of them. */
function find(tokens: readonly StaticToken[], token: string): StaticToken | undefined {
  const sha256 = sha256Of(token);
  return tokens.filter((known) => timingSafeEqual(known.sha256, sha256))[0];
}

/** Changes whenever the file does. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return 'unreadable';
  }
}
