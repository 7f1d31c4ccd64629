import { booleanOption, type ConfigOf, durationOption, enumOption, intOption, stringOption } from '../runtime/config';

const URL_PATTERN = /^https?:\/\/\S+$/;

/** Settings of authentication; `auth/README.md` explains each strategy with its commands. */
export const authOptions = {
  auth: enumOption({
    env: 'BERTH_PLACEMENT_AUTH',
    default: 'noauth',
    values: ['noauth', 'tokens', 'keystone'],
    help: "Source of a sender's identity: the request itself (noauth, for development), a file of tokens, or Keystone.",
  }),
  noauthAnywhere: booleanOption({
    env: 'BERTH_PLACEMENT_NOAUTH_ANYWHERE',
    default: false,
    help: 'Lets noauth listen beyond loopback: anyone who reaches the port can then do everything.',
  }),
  tokensFile: stringOption({
    env: 'BERTH_PLACEMENT_TOKENS_FILE',
    default: '',
    range: 'path',
    help: 'The JSON file of tokens (tokens): a list of {token or token_sha256, user_id, project_id, roles}.',
  }),
  tokensCheckMs: durationOption({
    env: 'BERTH_PLACEMENT_TOKENS_CHECK_MS',
    default: 1_000,
    min: 0,
    max: 600_000,
    help: 'Interval of checking the file of tokens for changes.',
  }),
  keystoneUrl: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_URL',
    default: '',
    pattern: URL_PATTERN,
    range: 'http://... or https://...',
    help: "Keystone's URL for this service (keystone), with or without /v3 at its end.",
  }),
  keystonePublicUrl: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_PUBLIC_URL',
    default: '',
    pattern: URL_PATTERN,
    range: 'http://... or https://...',
    help: "Keystone's URL for clients without a valid token (WWW-Authenticate); by default that of this service.",
  }),
  keystoneUsername: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_USERNAME',
    default: 'placement',
    help: 'The user as whom this service validates tokens with Keystone; it needs the role service or admin.',
  }),
  keystonePassword: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_PASSWORD',
    default: '',
    secret: true,
    help: 'The password of that user.',
  }),
  keystoneProject: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_PROJECT',
    default: 'service',
    help: 'The project in which that user has its role.',
  }),
  keystoneUserDomain: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_USER_DOMAIN',
    default: 'Default',
    help: 'The name of the domain of that user.',
  }),
  keystoneProjectDomain: stringOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_PROJECT_DOMAIN',
    default: 'Default',
    help: 'The name of the domain of that project.',
  }),
  keystoneCacheMs: durationOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_CACHE_MS',
    default: 300_000,
    min: 0,
    max: 3_600_000,
    help: 'Time for which a valid token is cached, at most until its expiry; a revoked one stays valid for as long.',
  }),
  keystoneRefusedCacheMs: durationOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_REFUSED_CACHE_MS',
    default: 10_000,
    min: 0,
    max: 600_000,
    help: "Time for which a refused token, or this service's own refused credentials, are cached.",
  }),
  keystoneCachedTokens: intOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_CACHED_TOKENS',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    help: 'Limit of cached tokens, for valid and refused ones each; the least recently used goes first.',
  }),
  keystoneMaxValidations: intOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_MAX_VALIDATIONS',
    default: 1_000,
    min: 1,
    max: 100_000,
    unit: 'tokens',
    help: 'Limit of concurrent token validations by Keystone; further requests are answered 503.',
  }),
  keystoneTimeoutMs: durationOption({
    env: 'BERTH_PLACEMENT_KEYSTONE_TIMEOUT_MS',
    default: 5_000,
    min: 50,
    max: 60_000,
    help: 'Time limit of a call to Keystone; then the request is answered 503.',
  }),
} as const;

export type AuthConfig = ConfigOf<typeof authOptions>;
