import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { BerthError } from '../domain/errors';
import type { RuntimeDeps } from '../runtime/service';
import type { Authenticate } from './auth';
import { AuthError } from './auth-error';
import { headerOf } from './header';
import { readTokenFile, type StaticToken, sha256Of } from './token-file';

/**
 * Authenticates by the tokens of a file. The file may change at any time: a request more than `checkMs` after the last
 * check waits for the next one, so that a removed token is refused from then on. When the file is malformed or missing,
 * the tokens read last stay valid, and an error is logged once.
 *
 * @throws BerthError `invalid_argument / bad_tokens_file` when the file is malformed or missing at the start.
 */
export async function openStaticTokens(
  path: string,
  { checkMs, clock, log }: { readonly checkMs: number } & Pick<RuntimeDeps, 'clock' | 'log'>,
): Promise<Authenticate> {
  let seen = await versionOf(path);
  let tokens = await readTokenFile(path);
  let lookedAtMs = clock.elapsed();
  let looking: Promise<void> | undefined;

  const look = async () => {
    const version = await versionOf(path);
    if (version === seen) return;
    seen = version;
    try {
      tokens = await readTokenFile(path);
      log.info({ event: 'token_file_read', path, tokens: tokens.length }, 'token file changed and read');
    } catch (thrown) {
      const { reason, message, details } = BerthError.from(thrown);
      log.error(
        { event: 'token_file_bad', path, reason, ...details },
        `token file malformed, keeping the old tokens: ${message}`,
      );
    }
  };
  const lookWhenDue = async () => {
    if (looking === undefined && clock.elapsed() - lookedAtMs >= checkMs) {
      lookedAtMs = clock.elapsed();
      looking = look().finally(() => {
        looking = undefined;
      });
    }
    await looking;
  };

  return async (headers) => {
    await lookWhenDue();
    const token = headerOf(headers, 'x-auth-token');
    if (token === undefined) throw new AuthError(401, 'A token is needed: x-auth-token');
    const found = find(tokens, token);
    if (found === undefined) throw new AuthError(401, 'The token is not known.');
    return found.principal;
  };
}

/** Compares the hash with every token's, in constant time, so that timing reveals nothing about the tokens. */
function find(tokens: readonly StaticToken[], token: string): StaticToken | undefined {
  const sha256 = sha256Of(token);
  return tokens.filter((known) => timingSafeEqual(known.sha256, sha256))[0];
}

/** A string that changes whenever the file does. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return 'unreadable';
  }
}
