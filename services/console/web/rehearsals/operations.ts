import type { Choices } from '../../api/instances';

/** A field of the form; the console's server checks what is in it. */
export interface RunField {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly placeholder?: string;
  readonly isNumber?: boolean;
  readonly isCheck?: boolean;
  /** Values with their texts. */
  readonly choices?: readonly (readonly [value: string, text: string])[];
  /** Values that are offered besides others. */
  readonly offers?: (choices: Choices) => readonly string[];
  /** Goals of a rebalance that ask for it. */
  readonly goals?: readonly string[];
}

const PARALLEL = { name: 'parallel', label: 'Instances at once', placeholder: '4', isNumber: true } as const;

export const FIELDS = {
  hosts: {
    name: 'hosts',
    label: 'Hosts',
    placeholder: 'host-7, host-8',
    help: 'Names, separated by commas; or a domain below.',
  },
  zone: { name: 'zone', label: 'Zone', placeholder: 'none', offers: ({ zones }) => zones },
  in: {
    name: 'in',
    label: 'Rack, or other metadata',
    placeholder: 'rack=r12',
    offers: ({ metadata }) => metadata,
  },
  each: {
    name: 'each',
    label: 'Each',
    placeholder: 'rack',
    help: 'Metadata of aggregates, availability_zone, or host.',
    offers: ({ metadata }) => [
      ...new Set([...metadata.map((pair) => pair.split('=')[0] ?? ''), 'availability_zone', 'host']),
    ],
  },
  evacuate: { name: 'evacuate', label: 'Evacuate all instances, as an operator', isCheck: true },
  parallel: PARALLEL,
  stopped: { name: 'stopped', label: 'Seconds without its agent', placeholder: '60', isNumber: true },
  flavor: { name: 'flavor', label: 'Flavor', offers: ({ flavors }) => flavors.map(({ name }) => name) },
  count: { name: 'count', label: 'Instances to build', placeholder: '1', isNumber: true },
  extraSpecs: { name: 'extraSpecs', label: 'Extra specs to set', placeholder: 'trait:STORAGE_DISK_SSD=required' },
  unset: { name: 'unset', label: 'Extra specs to remove', placeholder: 'hw:numa_nodes' },
  project: {
    name: 'project',
    label: 'Project',
    placeholder: 'the default quota',
    offers: ({ projects }) => projects,
  },
  limits: { name: 'limits', label: 'Limits', placeholder: 'VCPU=200, instances=100', help: '-1 is none.' },
  goal: {
    name: 'goal',
    label: 'Goal',
    choices: [
      ['even-out', 'Even out the use of hosts'],
      ['defragment', 'Free capacity for more instances'],
      ['empty', 'Empty hosts'],
    ],
  },
  moves: { name: 'moves', label: 'Moves at most', placeholder: '50', isNumber: true, goals: ['defragment'] },
  emptied: { name: 'hosts', label: 'Hosts', placeholder: 'host-7, host-8', goals: ['empty'] },
  server: {
    name: 'server',
    label: 'Server',
    choices: [
      ['broker', 'Broker'],
      ['store', 'Store'],
    ],
  },
  seconds: { name: 'seconds', label: 'Seconds', placeholder: '60', isNumber: true },
  seeds: {
    name: 'seeds',
    label: 'Repetitions',
    placeholder: '20',
    help: 'Each with other chances.',
    isNumber: true,
  },
  traffic: {
    name: 'traffic',
    label: 'Traffic, last seconds',
    placeholder: 'none',
    help: 'Requests of tenants meanwhile, from the record of decisions of the schedulers’ machine.',
    isNumber: true,
  },
  profile: {
    name: 'profile',
    label: 'Profile of schedulers',
    choices: [
      ['', 'as it is'],
      ['spread', 'spread'],
      ['pack', 'pack'],
      ['headroom', 'headroom'],
    ],
  },
  weights: { name: 'weights', label: 'Weights', placeholder: 'CPU=-1, RAM=0' },
} as const satisfies Readonly<Record<string, RunField>>;

interface RunOperation {
  readonly name: string;
  readonly label: string;
  readonly fields: readonly (keyof typeof FIELDS)[];
}

const WHERE = ['hosts', 'zone', 'in'] as const;

/** The operations of the form. */
export const OPERATIONS: readonly RunOperation[] = [
  { name: 'drain', label: 'Drain hosts', fields: [...WHERE, 'parallel'] },
  { name: 'lose', label: 'Lose hosts, a rack or a zone', fields: [...WHERE, 'evacuate'] },
  { name: 'lose_each', label: 'Lose each rack, zone or host in turn', fields: ['each', 'evacuate'] },
  { name: 'disable', label: 'Disable hosts', fields: WHERE },
  { name: 'delete', label: 'Delete hosts', fields: [...WHERE, 'parallel'] },
  { name: 'upgrade', label: 'Upgrade hosts, one by one', fields: [...WHERE, 'stopped', 'parallel'] },
  { name: 'build', label: 'Build instances', fields: ['flavor', 'count'] },
  { name: 'flavor', label: 'Change a flavor', fields: ['flavor', 'extraSpecs', 'unset', 'count'] },
  { name: 'quota', label: 'Change a quota', fields: ['project', 'limits'] },
  { name: 'rebalance', label: 'Rebalance', fields: ['goal', 'moves', 'emptied'] },
  { name: 'outage', label: 'Lose the broker or the store for a time', fields: ['server', 'seconds'] },
  { name: 'traffic', label: 'The same traffic, with other weights', fields: [] },
];
