import { authOptions } from '#libs/auth/options';
import {
  booleanOption,
  type ConfigOf,
  durationOption,
  intOption,
  listOption,
  stringOption,
} from '#libs/runtime/config';
import { buildApiOptions } from './builds/options';
import { corsOptions } from './cors-options';
import { policyOptions } from './policy/policy';

/** Settings of the placement API. */
export const placementApiOptions = {
  host: stringOption({
    env: 'BERTH_PLACEMENT_HOST',
    default: '127.0.0.1',
    help: 'The address that the API listens on; 0.0.0.0 in a container.',
  }),
  port: intOption({
    env: 'BERTH_PLACEMENT_PORT',
    default: 8778,
    min: 0,
    max: 65_535,
    help: 'The port that the API listens on (8778 is that of OpenStack Placement); 0 takes any free one and logs it.',
  }),
  pathPrefix: stringOption({
    env: 'BERTH_PLACEMENT_PATH_PREFIX',
    default: '',
    pattern: /^(\/[A-Za-z0-9._~-]+)*$/,
    range: 'a path such as /placement, or empty',
    help: 'The path in front of all others, in links and in requests; a proxy may remove it from requests.',
  }),
  trustedProxies: listOption({
    env: 'BERTH_PLACEMENT_TRUSTED_PROXIES',
    default: [],
    help: 'Addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For, -Proto and -Host are trusted.',
  }),
  tlsCertFile: stringOption({
    env: 'BERTH_PLACEMENT_TLS_CERT_FILE',
    default: '',
    range: 'a PEM file, or empty',
    help: 'The certificate, with its chain, for HTTPS; empty serves HTTP.',
  }),
  tlsKeyFile: stringOption({
    env: 'BERTH_PLACEMENT_TLS_KEY_FILE',
    default: '',
    range: 'a PEM file, or empty',
    help: 'The private key of that certificate.',
  }),
  ...authOptions,
  ...policyOptions,
  ...corsOptions,
  ...buildApiOptions,
  enforceQuotas: booleanOption({
    env: 'BERTH_PLACEMENT_ENFORCE_QUOTAS',
    default: false,
    help: "Refuses allocations above the quota of their project; the header 'Berth-Enforce-Quotas' decides for one request.",
  }),
  readTimeoutMs: durationOption({
    env: 'BERTH_PLACEMENT_READ_TIMEOUT_MS',
    default: 5_000,
    min: 10,
    max: 60_000,
    help: 'Time limit of a read until it sees all earlier writes; then it is answered 503.',
  }),
  randomizeCandidates: booleanOption({
    env: 'BERTH_PLACEMENT_RANDOMIZE_CANDIDATES',
    default: false,
    help: 'Returns allocation candidates in random order, to spread load over the fleet.',
  }),
  maxCandidates: intOption({
    env: 'BERTH_PLACEMENT_MAX_CANDIDATES',
    default: 10_000,
    min: 1,
    max: 100_000,
    help: 'The most allocation candidates of one answer, whatever limit the request gives; 10,000 are about ten megabytes.',
  }),
  maxCandidatesBytes: intOption({
    env: 'BERTH_PLACEMENT_MAX_CANDIDATES_BYTES',
    default: 16_777_216,
    min: 65_536,
    max: 268_435_456,
    unit: 'bytes',
    help: 'Approximate limit of an answer with allocation candidates; the rest is left out.',
  }),
  candidateTtlMs: durationOption({
    env: 'BERTH_PLACEMENT_CANDIDATE_TTL_MS',
    default: 600_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Time for which an allocation candidate may be claimed by its id (Berth-Candidate-Ids).',
  }),
  maxKeptCandidates: intOption({
    env: 'BERTH_PLACEMENT_MAX_KEPT_CANDIDATES',
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    help: 'The most allocation candidates that are kept by id, some 500 bytes each in the store; beyond it those of the project with the most are forgotten first.',
  }),
  maxSearchSteps: intOption({
    env: 'BERTH_PLACEMENT_MAX_SEARCH_STEPS',
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    unit: 'steps',
    help: 'Limit of the search for allocation candidates, in providers tried: about half a second for the default. The answer has the candidates found so far.',
  }),
  maxRequestGroups: intOption({
    env: 'BERTH_PLACEMENT_MAX_REQUEST_GROUPS',
    default: 100,
    min: 1,
    max: 1_000,
    help: 'The most request groups of one query for allocation candidates.',
  }),
  maxQueryParameters: intOption({
    env: 'BERTH_PLACEMENT_MAX_QUERY_PARAMETERS',
    default: 1_000,
    min: 10,
    max: 10_000,
    help: 'The most parameters of one query string.',
  }),
  maxBodyBytes: intOption({
    env: 'BERTH_PLACEMENT_MAX_BODY_BYTES',
    default: 4_194_304,
    min: 1_024,
    max: 1_073_741_824,
    unit: 'bytes',
    help: 'The largest body of a request.',
  }),
  maxBodyEntries: intOption({
    env: 'BERTH_PLACEMENT_MAX_BODY_ENTRIES',
    default: 1_024,
    min: 16,
    max: 100_000,
    help: 'The most entries of one list or object in a body: consumers, providers, classes, traits, aggregates.',
  }),
  maxBodyValues: intOption({
    env: 'BERTH_PLACEMENT_MAX_BODY_VALUES',
    default: 32_768,
    min: 64,
    max: 1_000_000,
    help: 'The most values of a body in all.',
  }),
  maxBodyDepth: intOption({
    env: 'BERTH_PLACEMENT_MAX_BODY_DEPTH',
    default: 16,
    min: 8,
    max: 100,
    unit: 'levels',
    help: 'Limit of the nesting of values in a body; the API needs up to 6.',
  }),
  maxAllocations: intOption({
    env: 'BERTH_PLACEMENT_MAX_ALLOCATIONS',
    default: 5_000,
    min: 16,
    max: 100_000,
    unit: 'amounts',
    help: 'Limit of the amounts that one request allocates, over all of its consumers: the store handles them in one step, which blocks everything else.',
  }),
  maxHeaderBytes: intOption({
    env: 'BERTH_PLACEMENT_MAX_HEADER_BYTES',
    default: 65_536,
    min: 8_192,
    max: 1_048_576,
    unit: 'bytes',
    help: 'The longest request line with its headers, and so the longest query string.',
  }),
} as const;

export type PlacementApiConfig = ConfigOf<typeof placementApiOptions>;
