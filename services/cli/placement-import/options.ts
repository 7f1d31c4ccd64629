import { durationOption, intOption, stringOption } from '#libs/runtime/config';

const keystoneHelp = 'of the Keystone user for `berth placement import`';

/** Settings of `berth placement import`: its source, and Keystone for both sides. */
export const importOptions = {
  from: stringOption({
    env: 'BERTH_IMPORT_FROM',
    default: '',
    pattern: /^(https?:\/\/[^\s?#]+)?$/,
    range: 'http://... or https://...',
    help: "URL of the placement API to import from: OpenStack Placement's, or Berth's.",
  }),
  fromToken: stringOption({
    env: 'BERTH_IMPORT_FROM_TOKEN',
    default: '',
    pattern: /^[\x21-\x7e]*$/,
    range: 'printable characters without blanks, or empty',
    help: 'The token for the source; empty logs in to Keystone.',
    secret: true,
  }),
  keystoneUrl: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_URL',
    default: '',
    pattern: /^(https?:\/\/[^\s?#]+)?$/,
    range: 'http://... or https://..., or empty',
    help: 'The Keystone (v3) of the source, and of the destination when BERTH_PLACEMENT_TOKEN is not set.',
  }),
  username: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_USERNAME',
    default: 'placement',
    help: `The name ${keystoneHelp}.`,
  }),
  password: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_PASSWORD',
    default: '',
    help: `The password ${keystoneHelp}.`,
    secret: true,
  }),
  project: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_PROJECT',
    default: 'service',
    help: `The project ${keystoneHelp}.`,
  }),
  userDomain: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_USER_DOMAIN',
    default: 'Default',
    help: `The name of the domain ${keystoneHelp}.`,
  }),
  projectDomain: stringOption({
    env: 'BERTH_IMPORT_KEYSTONE_PROJECT_DOMAIN',
    default: 'Default',
    help: `The name of the project's domain ${keystoneHelp}.`,
  }),
  intervalMs: durationOption({
    env: 'BERTH_IMPORT_INTERVAL_MS',
    default: 2_000,
    min: 100,
    max: 3_600_000,
    help: "With --follow: pause between two reads of the source's changes.",
  }),
  sweepMs: durationOption({
    env: 'BERTH_IMPORT_SWEEP_MS',
    default: 60_000,
    min: 1_000,
    max: 86_400_000,
    help: 'With --follow: time in which the allocations of all providers are compared once, changed or not: it finds deletions that change no generation.',
  }),
  rate: intOption({
    env: 'BERTH_IMPORT_RATE',
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'requests/s',
    help: 'Limit of requests a second to each side; keep it low for a Placement that serves a cloud meanwhile.',
  }),
} as const;
