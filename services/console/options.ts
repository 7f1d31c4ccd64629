import {
  booleanOption,
  type ConfigOf,
  durationOption,
  intOption,
  listOption,
  stringOption,
  textsOption,
} from '#libs/runtime/config';

/** Settings of the console. Sign-in uses the placement API's authentication and its settings (`libs/auth`). */
export const consoleOptions = {
  host: stringOption({
    env: 'BERTH_CONSOLE_HOST',
    default: '127.0.0.1',
    help: 'The address that the console listens on; 0.0.0.0 in a container.',
  }),
  port: intOption({
    env: 'BERTH_CONSOLE_PORT',
    default: 8780,
    min: 0,
    max: 65_535,
    help: 'The port that the console listens on; 0 takes any free one and logs it.',
  }),
  tlsCertFile: stringOption({
    env: 'BERTH_CONSOLE_TLS_CERT_FILE',
    default: '',
    range: 'a PEM file, or empty',
    help: 'The certificate, with its chain, with which the console serves HTTPS; empty serves HTTP.',
  }),
  tlsKeyFile: stringOption({
    env: 'BERTH_CONSOLE_TLS_KEY_FILE',
    default: '',
    range: 'a PEM file, or empty',
    help: 'The private key of that certificate.',
  }),
  proxies: listOption({
    env: 'BERTH_CONSOLE_PROXIES',
    default: [],
    help: 'Addresses or networks of proxies in front of the console, such as 10.0.0.0/8, whose forwarding headers are trusted.',
  }),
  secureCookies: booleanOption({
    env: 'BERTH_CONSOLE_SECURE_COOKIES',
    default: false,
    help: 'Marks cookies Secure although the console serves HTTP: for a proxy in front of it that serves HTTPS.',
  }),
  actRoles: listOption({
    env: 'BERTH_CONSOLE_ACT_ROLES',
    default: ['admin', 'service'],
    help: 'Roles that may act: disable and drain hosts, terminate and move instances.',
  }),
  readRoles: listOption({
    env: 'BERTH_CONSOLE_READ_ROLES',
    default: ['reader'],
    help: "Roles that may see everything, all projects' instances too, and can't act. Not a role that tenants have.",
  }),
  historyStepMs: durationOption({
    env: 'BERTH_CONSOLE_HISTORY_STEP_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'Interval of the points of history that the console keeps while it runs.',
  }),
  historyPoints: intOption({
    env: 'BERTH_CONSOLE_HISTORY_POINTS',
    default: 180,
    min: 10,
    max: 2_000,
    unit: 'points',
    help: 'Points of history that the console keeps for each host and zone: 180 for 10,000 hosts take 22 MB.',
  }),
  maxStreams: intOption({
    env: 'BERTH_CONSOLE_MAX_STREAMS',
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'pages',
    help: 'Pages that may be open at once; further ones are told to try again.',
  }),
  maxStreamsPerUser: intOption({
    env: 'BERTH_CONSOLE_MAX_STREAMS_PER_USER',
    default: 20,
    min: 1,
    max: 10_000,
    unit: 'pages',
    help: 'Pages that one user may have open at once. A tenth of all pages is kept for those who may act.',
  }),
  novaShadowUrl: stringOption({
    env: 'BERTH_CONSOLE_NOVA_SHADOW_URL',
    default: '',
    pattern: /^(https?:\/\/[^\s?#]+)?$/,
    range: 'http://... or https://...',
    help: 'The operations endpoint of a scheduler for Nova in shadow, whose report the page of Nova shows; empty for none.',
  }),
  cellUrls: textsOption({
    env: 'BERTH_CONSOLE_CELL_URLS',
    default: [],
    range: 'CELL=http://..., or https://..., separated by commas',
    separator: /\s*,\s*/,
    problem: (text) => (/^[^=\s]+=https?:\/\/[^\s?#/]+$/.test(text) ? undefined : 'must be CELL=URL, without a path'),
    help: "Consoles of the cells, to which a top's console links their hosts.",
  }),
  maxDrains: intOption({
    env: 'BERTH_CONSOLE_MAX_DRAINS',
    default: 10,
    min: 1,
    max: 1_000,
    unit: 'hosts',
    help: 'Hosts that one console drains at once; further ones are refused.',
  }),
  maxRehearsals: intOption({
    env: 'BERTH_CONSOLE_MAX_REHEARSALS',
    default: 2,
    min: 0,
    max: 32,
    unit: 'processes',
    help: 'Rehearsals that one console runs at once, one for each user; 0 for none: they take a processor each.',
  }),
  rehearsalMemoryMb: intOption({
    env: 'BERTH_CONSOLE_REHEARSAL_MEMORY_MB',
    default: 640,
    min: 128,
    max: 65_536,
    unit: 'MiB',
    help: "Limit of a rehearsal's heap, beside the console's own memory.",
  }),
} as const;

export type ConsoleConfig = ConfigOf<typeof consoleOptions>;
