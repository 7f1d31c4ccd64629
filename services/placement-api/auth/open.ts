import type { Clock } from '#libs/domain/clock';
import { invalidArgument } from '#libs/domain/errors';
import type { Log } from '#libs/runtime/log';
import type { Auth } from './auth';
import { openKeystone } from './keystone';
import { noAuth } from './noauth';
import type { AuthConfig } from './options';
import { openStaticTokens } from './static-tokens';

/**
 * The strategy that the configuration names. Keystone need not be there yet; a file of tokens must be, and be good.
 *
 * @throws BerthError `invalid_argument / bad_config` with everything that the strategy lacks, `bad_tokens_file`.
 */
export async function openAuth(
  config: AuthConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Auth> {
  switch (config.auth) {
    case 'noauth':
      return { authenticate: noAuth, async close() {} };
    case 'tokens': {
      refuseProblems(config, lacks(config.tokensFile, 'BERTH_PLACEMENT_TOKENS_FILE'));
      const { tokensFile, tokensCheckMs: checkMs } = config;
      return { authenticate: await openStaticTokens(tokensFile, { checkMs, clock, log }), async close() {} };
    }
    case 'keystone':
      refuseProblems(config, keystoneProblems(config));
      return openKeystone(config, { clock, log });
  }
}

function keystoneProblems(config: AuthConfig): readonly string[] {
  const { keystoneUrl: url } = config;
  return [
    ...lacks(url, 'BERTH_PLACEMENT_KEYSTONE_URL'),
    ...(url === '' || isPlainUrl(url) ? [] : ['BERTH_PLACEMENT_KEYSTONE_URL must be a plain URL']),
    ...lacks(config.keystonePassword, 'BERTH_PLACEMENT_KEYSTONE_PASSWORD'),
  ];
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === '';
}

function lacks(value: string, env: string): readonly string[] {
  return value === '' ? [`${env} is not set`] : [];
}

function refuseProblems({ auth }: AuthConfig, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw invalidArgument('bad_config', `BERTH_PLACEMENT_AUTH=${auth} can not start:\n  ${problems.join('\n  ')}`);
}
