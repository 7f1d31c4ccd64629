import { booleanOption, durationOption, enumOption, numberOption, stringOption } from '#libs/runtime/config';

/** Settings of the bare metal driver, and of the pool whose nodes it manages. */
export const baremetalOptions = {
  nodes: stringOption({
    env: 'BERTH_AGENT_NODES',
    default: '',
    range: 'a file, or redfish+http(s)://HOST',
    help: 'The nodes of the pool: a JSON file of them, or a Redfish service that has them as systems; needed by the baremetal driver.',
  }),
  pool: stringOption({
    env: 'BERTH_AGENT_POOL',
    default: 'baremetal',
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    range: 'a name',
    help: 'The pool of nodes. Agents of the same pool have the same nodes, and share them by a ring.',
  }),
  weight: numberOption({
    env: 'BERTH_AGENT_WEIGHT',
    default: 1,
    min: 0.01,
    max: 100,
    help: "How much of the pool's nodes this agent takes, relative to the others.",
  }),
  ringSlack: numberOption({
    env: 'BERTH_AGENT_RING_SLACK',
    default: 0.1,
    min: 0,
    max: 10,
    help: 'By which part of its fair share an agent may keep more nodes than that, to spare moves; 0 moves all at once.',
  }),
  nodeClass: stringOption({
    env: 'BERTH_AGENT_NODE_CLASS',
    default: '',
    pattern: /^[A-Z0-9_]{0,200}$/,
    range: 'upper case letters, digits and underscores',
    help: 'The class of nodes whose inventory says none, GOLD for CUSTOM_BAREMETAL_GOLD; nodes without a class are not offered.',
  }),
  nodeOffers: enumOption({
    env: 'BERTH_AGENT_NODE_OFFERS',
    default: 'class',
    values: ['class', 'both', 'machine'],
    help: 'What nodes show: their class; processors, memory and disk of the machine, as before there were classes; or both, while flavors and instances go from these to classes.',
  }),
  nodeStart: enumOption({
    env: 'BERTH_AGENT_NODE_START',
    default: 'enroll',
    values: ['enroll', 'available'],
    help: 'What a node is that is seen for the first time: enroll waits for an operator; available is given out at once, if its power is off.',
  }),
  nodeCleans: booleanOption({
    env: 'BERTH_AGENT_NODE_CLEAN',
    default: true,
    help: 'Whether a node boots its utilities once, which remove what was on it, before it is given to somebody else.',
  }),
  nodePollMs: durationOption({
    env: 'BERTH_AGENT_NODE_POLL_MS',
    default: 5_000,
    min: 10,
    max: 600_000,
    help: 'How often a node is looked at while it boots or ends.',
  }),
  nodeShutdownMs: durationOption({
    env: 'BERTH_AGENT_NODE_SHUTDOWN_MS',
    default: 60_000,
    min: 0,
    max: 3_600_000,
    help: 'How long what runs on a node may take to end when it is stopped, before its power is cut.',
  }),
  redfishUser: stringOption({
    env: 'BERTH_AGENT_REDFISH_USER',
    default: 'berth',
    range: 'a name',
    help: "The account at the nodes' controllers. It must be Berth's alone: its sessions are ended when a node changes hands.",
  }),
  redfishPassword: stringOption({
    env: 'BERTH_AGENT_REDFISH_PASSWORD',
    default: '',
    range: 'text',
    secret: true,
    help: 'Its password.',
  }),
  redfishTimeoutMs: durationOption({
    env: 'BERTH_AGENT_REDFISH_TIMEOUT_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'How long a controller may take for an answer.',
  }),
} as const;
