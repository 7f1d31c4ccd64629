import { invalidArgument } from '../domain/errors';
import type { RuntimeDeps } from '../runtime/service';
import { AUTH_PROBLEMS, type Auth, type Authenticate } from './auth';
import { openKeystone } from './keystone';
import { noAuth } from './noauth';
import type { AuthConfig } from './options';
import { openStaticTokens } from './static-tokens';

/**
 * Opens the strategy that the configuration names, and shows its problem as a metric. Keystone may still be unavailable; a token file must be valid.
 *
 * @throws BerthError `invalid_argument / bad_config` with every missing setting, `bad_tokens_file`.
 */
export async function openAuth(config: AuthConfig, deps: AuthDeps): Promise<Auth> {
  const auth = await openStrategy(config, deps);
  const help = 'Reasons why tokens can not be validated: 1 for the present one.';
  deps.metrics.gauge('berth_auth_problem', help, ['reason'], (gauge) => {
    const problem = auth.problem();
    for (const reason of AUTH_PROBLEMS) gauge.set({ reason }, reason === problem ? 1 : 0);
  });
  return auth;
}

export type AuthDeps = Pick<RuntimeDeps, 'clock' | 'log' | 'metrics'>;

async function openStrategy(config: AuthConfig, deps: AuthDeps): Promise<Auth> {
  switch (config.auth) {
    case 'noauth':
      return alone(noAuth);
    case 'tokens': {
      refuseProblems(config, lacks(config.tokensFile, 'BERTH_PLACEMENT_TOKENS_FILE'));
      const { tokensFile, tokensCheckMs: checkMs } = config;
      return alone(await openStaticTokens(tokensFile, { checkMs, ...deps }));
    }
    case 'keystone':
      refuseProblems(config, keystoneProblems(config));
      return openKeystone(config, deps);
  }
}

/** A strategy that asks no other service. */
function alone(authenticate: Authenticate): Auth {
  return { authenticate, problem: () => undefined, readiness: () => ({ ready: true }), async close() {} };
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
  throw invalidArgument('bad_config', `BERTH_PLACEMENT_AUTH=${auth} is not configured:\n  ${problems.join('\n  ')}`);
}
