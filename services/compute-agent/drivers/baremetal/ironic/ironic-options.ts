import { durationOption, stringOption } from '#libs/runtime/config';

/** Settings of a pool whose nodes are an Ironic's. */
export const ironicOptions = {
  ironicUsername: stringOption({
    env: 'BERTH_AGENT_IRONIC_USERNAME',
    default: 'berth',
    range: 'a name',
    help: "The account at Ironic: Keystone's, with BERTH_AGENT_IRONIC_KEYSTONE_URL, else that of http_basic.",
  }),
  ironicPassword: stringOption({
    env: 'BERTH_AGENT_IRONIC_PASSWORD',
    default: '',
    range: 'text',
    secret: true,
    help: 'Password of that account; empty for an Ironic with noauth.',
  }),
  ironicKeystoneUrl: stringOption({
    env: 'BERTH_AGENT_IRONIC_KEYSTONE_URL',
    default: '',
    pattern: /^https?:\/\/\S+$/,
    range: 'http://... or https://...',
    help: "Keystone's URL, for a token for Ironic's API.",
  }),
  ironicProject: stringOption({
    env: 'BERTH_AGENT_IRONIC_KEYSTONE_PROJECT',
    default: 'service',
    range: 'a name',
    help: 'The project in which that account has its role.',
  }),
  ironicUserDomain: stringOption({
    env: 'BERTH_AGENT_IRONIC_KEYSTONE_USER_DOMAIN',
    default: 'Default',
    range: 'a name',
    help: 'The name of the domain of that account.',
  }),
  ironicProjectDomain: stringOption({
    env: 'BERTH_AGENT_IRONIC_KEYSTONE_PROJECT_DOMAIN',
    default: 'Default',
    range: 'a name',
    help: 'The name of the domain of that project.',
  }),
  ironicInstanceInfo: stringOption({
    env: 'BERTH_AGENT_IRONIC_INSTANCE_INFO',
    default: '',
    range: 'a JSON object',
    help: 'Fields of instance_info with which instances are deployed, as {"image_source": "http://images/os.raw", "image_checksum": "..."}.',
  }),
  ironicTimeoutMs: durationOption({
    env: 'BERTH_AGENT_IRONIC_TIMEOUT_MS',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: "Time limit of an answer of Ironic's, or of Keystone's.",
  }),
} as const;
