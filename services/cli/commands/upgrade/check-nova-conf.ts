import {
  DATABASE_FILTERS,
  DATABASE_WEIGHERS,
  FILTER_NAMES,
  type NovaConfig,
  novaOptions,
  WEIGHERS,
  type Weigher,
  type WeigherName,
} from '../../../nova-scheduler/options';
import { showValue } from '../../settings';
import { type Check, found } from './checks';
import { isTrueWord, itemsOf, type NovaConf, valueOf } from './nova-conf';

/** Checks that Berth's scheduler can take the place of the one that a nova.conf configures, with the settings that it would have. */
export function checkNovaConf(conf: NovaConf, config: NovaConfig): readonly Check[] {
  const filters = filtersOf(conf);
  const absent = filters.filter((name) => !FILTER_NAMES.includes(name));
  const ofDatabase = config.databaseUrl === '' ? DATABASE_FILTERS.filter((name) => filters.includes(name)) : [];
  const { missing, foreign } = weighersOf(conf, config);
  return [
    found("Nova's filters", 'failure', [...absent.map(whyAbsent), ...foreignFilters(conf)]),
    found(
      "Filters that need Nova's database",
      'warning',
      ofDatabase.map((name) => `${name}: ${fateOf(config)}`),
    ),
    found('Weighers of its own', 'failure', foreign),
    found("Nova's weighers", 'warning', missing),
    found("Nova's options", 'failure', absentOptions(conf)),
    found('Tasks and options without effect', 'warning', ineffective(conf)),
    found('Settings as in nova.conf', 'warning', differingSettings(conf, config)),
  ];
}

const FILTERS_MODULE = 'nova.scheduler.filters.';
const WEIGHTS_MODULE = 'nova.scheduler.weights.';

function filtersOf(conf: NovaConf): readonly string[] {
  const said = valueOf(conf, 'filter_scheduler', 'enabled_filters');
  // A name may be a path: the class is its last part.
  return said === undefined ? novaOptions.filters.default : itemsOf(said).map((name) => name.split('.').at(-1) ?? name);
}

function whyAbsent(name: string): string {
  return `${name} is no filter of Nova 26 to 33, so code of your own, which Berth can not run`;
}

function foreignFilters(conf: NovaConf): string[] {
  const available = conf.get('filter_scheduler')?.get('available_filters') ?? [];
  return available
    .filter((path) => !path.startsWith(FILTERS_MODULE))
    .map((path) => `available_filters names ${path}, code of your own, which Berth can not run`);
}

function fateOf({ fallbackTopic }: NovaConfig): string {
  return fallbackTopic === ''
    ? 'requests that need it are refused, unless BERTH_NOVA_DATABASE_URL is set or BERTH_NOVA_FALLBACK_TOPIC names a stock scheduler'
    : `requests that need it go to ${fallbackTopic}`;
}

interface WeigherFindings {
  readonly missing: string[];
  readonly foreign: string[];
}

function weighersOf(conf: NovaConf, config: NovaConfig): WeigherFindings {
  const { databaseUrl } = config;
  const classes = itemsOf(valueOf(conf, 'filter_scheduler', 'weight_classes') ?? `${WEIGHTS_MODULE}all_weighers`);
  const isAll = classes.includes(`${WEIGHTS_MODULE}all_weighers`);
  const named = classes.filter((path) => !path.endsWith('.all_weighers'));
  const inUse = (name: string) => isAll || named.some((path) => path.endsWith(`.${name}`));
  const known = Object.values(WEIGHERS).map(({ name }) => name);
  const blind =
    databaseUrl === '' ? DATABASE_WEIGHERS.filter((key) => inUse(WEIGHERS[key].name) && weighs(key, conf)) : [];
  const leftOut = Object.entries(WEIGHERS).filter(([key, { name }]) => !inUse(name) && config[weightOf(key)] !== 0);
  return {
    missing: [
      ...blind.map((key) => `${WEIGHERS[key].name} is in use, and weighs nothing without BERTH_NOVA_DATABASE_URL`),
      ...leftOut.map(([key, { name }]) => `weight_classes leaves out ${name}: set ${novaOptions[weightOf(key)].env}=0`),
    ],
    foreign: named
      .filter((path) => !known.some((name) => path === name || path.endsWith(`.${name}`)))
      .map((path) => `weight_classes names ${path}, code of your own, which Berth can not run`),
  };
}

/** True where a weigher tells hosts apart, by its multiplier and what it weighs by. */
function weighs(key: WeigherName, conf: NovaConf): boolean {
  if (key === 'metrics' && itemsOf(valueOf(conf, 'metrics', 'weight_setting') ?? '').length === 0) return false;
  const fallback = novaOptions[weightOf(key)].default;
  return Number(valueOf(conf, ...optionOf(WEIGHERS[key])) ?? fallback) !== 0;
}

function optionOf({ multiplier, option }: Weigher): readonly [section: string, name: string] {
  return option ?? ['filter_scheduler', multiplier];
}

/** Options that change decisions in a way that Berth lacks. */
function absentOptions(conf: NovaConf): string[] {
  const findings: string[] = [];
  const say = (section: string, option: string, isAbsent: (value: string) => boolean, why: string) => {
    const value = valueOf(conf, section, option);
    if (value !== undefined && isAbsent(value)) findings.push(`[${section}] ${option} = ${value}: ${why}`);
  };
  const isSet = (value: string) => value !== '';
  say('scheduler', 'query_placement_for_routed_network_aggregates', isTrueWord, 'Berth does not ask Neutron');
  say('scheduler', 'driver', (value) => value !== 'filter_scheduler', 'Berth has the filter scheduler only');
  say('filter_scheduler', 'pci_in_placement', isTrueWord, 'Berth does not count PCI devices in placement');
  say('filter_scheduler', 'image_properties_default_architecture', isSet, 'Berth takes no default architecture');
  say('DEFAULT', 'transport_url', (value) => value.includes(','), 'BERTH_NOVA_TRANSPORT_URL takes one host');
  for (const option of ['rabbit_stream_fanout', 'rabbit_transient_quorum_queue', 'use_queue_manager'])
    say('oslo_messaging_rabbit', option, isTrueWord, 'Berth declares its fanout queue otherwise');
  return findings.map(withoutSecrets);
}

function withoutSecrets(text: string): string {
  return text.replaceAll(/\/\/[^\s,]*@/g, '//***@').replaceAll(/,[^\s,@]*@/g, ',***@');
}

/** Options of the two sections that Berth's own settings do not need. */
const NEEDLESS: readonly string[] = [
  'driver',
  'workers',
  'max_placement_results',
  'query_placement_for_routed_network_aggregates',
  'query_placement_for_availability_zone',
  'discover_hosts_in_cells_interval',
  'periodic_task_interval',
  'available_filters',
  'enabled_filters',
  'weight_classes',
  'track_instance_changes',
  'image_properties_default_architecture',
  'pci_in_placement',
];

function ineffective(conf: NovaConf): string[] {
  const findings: string[] = [];
  const interval = valueOf(conf, 'scheduler', 'discover_hosts_in_cells_interval');
  if (Number(interval) > 0)
    findings.push(
      `discover_hosts_in_cells_interval = ${interval}: no scheduler of Berth's maps new hosts; let a timer run nova-manage cell_v2 discover_hosts`,
    );
  const known = [...NEEDLESS, ...COUNTERPARTS.map(([, option]) => option)];
  for (const section of ['scheduler', 'filter_scheduler'])
    for (const option of conf.get(section)?.keys() ?? [])
      if (!known.includes(option)) findings.push(`[${section}] ${option} is no option that is known of Nova 26 to 33`);
  return findings;
}

/** Options of Nova, and the settings of Berth that mean the same. */
const COUNTERPARTS: readonly (readonly [section: string, option: string, setting: keyof NovaConfig])[] = [
  ['DEFAULT', 'control_exchange', 'exchange'],
  ['DEFAULT', 'default_availability_zone', 'defaultAvailabilityZone'],
  ['filter_scheduler', 'enabled_filters', 'filters'],
  ['filter_scheduler', 'isolated_hosts', 'isolatedHosts'],
  ['filter_scheduler', 'isolated_images', 'isolatedImages'],
  ['filter_scheduler', 'restrict_isolated_hosts_to_isolated_images', 'restrictIsolatedHosts'],
  ['filter_scheduler', 'aggregate_image_properties_isolation_namespace', 'imageIsolationNamespace'],
  ['filter_scheduler', 'aggregate_image_properties_isolation_separator', 'imageIsolationSeparator'],
  ['filter_scheduler', 'host_subset_size', 'hostSubsetSize'],
  ['filter_scheduler', 'max_io_ops_per_host', 'maxIoOpsPerHost'],
  ['filter_scheduler', 'max_instances_per_host', 'maxInstancesPerHost'],
  ['filter_scheduler', 'shuffle_best_same_weighed_hosts', 'shuffleBestSameWeighedHosts'],
  ['scheduler', 'max_attempts', 'maxAttempts'],
  ['scheduler', 'limit_tenants_to_placement_aggregate', 'limitTenantsToPlacementAggregate'],
  ['scheduler', 'placement_aggregate_required_for_tenants', 'placementAggregateRequiredForTenants'],
  ['scheduler', 'query_placement_for_image_type_support', 'queryPlacementForImageTypeSupport'],
  ['scheduler', 'enable_isolated_aggregate_filtering', 'enableIsolatedAggregateFiltering'],
  ['scheduler', 'image_metadata_prefilter', 'imageMetadataPrefilter'],
  ['filter_scheduler', 'image_props_weight_setting', 'imagePropsWeightSetting'],
  ['metrics', 'weight_setting', 'metricsWeightSetting'],
  ['metrics', 'required', 'metricsRequired'],
  ['metrics', 'weight_of_unavailable', 'metricsWeightOfUnavailable'],
  ...Object.entries(WEIGHERS).map(([name, weigher]) => [...optionOf(weigher), weightOf(name)] as const),
];

function weightOf(weigher: string): keyof NovaConfig {
  return `weight${weigher[0]?.toUpperCase()}${weigher.slice(1)}` as keyof NovaConfig;
}

function differingSettings(conf: NovaConf, config: NovaConfig): string[] {
  const idle = config.databaseUrl === '' ? DATABASE_WEIGHERS.map(weightOf) : [];
  const effective = COUNTERPARTS.filter(([, , setting]) => !idle.includes(setting));
  const asked = effective.flatMap(([section, option, setting]) => {
    const said = valueOf(conf, section, option);
    return said === undefined ? [] : [[`[${section}] ${option}`, setting, wantedOf(said, setting, config)] as const];
  });
  const pcpu = valueOf(conf, 'workarounds', 'disable_fallback_pcpu_query');
  const queues = queueKindOf(conf);
  const all = [
    ...asked,
    ...(pcpu === undefined ? [] : [['disable_fallback_pcpu_query', 'fallbackPcpuQuery', !isTrueWord(pcpu)] as const]),
    ...(queues === undefined ? [] : [[`[oslo_messaging_rabbit] ${queues[0]}`, 'queues', queues[1]] as const]),
  ];
  return all.flatMap(([where, setting, wanted]) => {
    const [now, then] = [showValue(config[setting]), showValue(wanted)];
    return now === then ? [] : [`${where}: set ${novaOptions[setting].env}=${then}, which is ${now || 'empty'}`];
  });
}

/** Nova's value in the type of Berth's. */
function wantedOf(said: string, setting: keyof NovaConfig, { [setting]: present }: NovaConfig): unknown {
  if (typeof present === 'boolean') return isTrueWord(said);
  if (typeof present === 'number') return Number(said);
  // Filters that Berth lacks would end its start.
  if (setting === 'filters')
    return itemsOf(said)
      .map((name) => name.split('.').at(-1) ?? name)
      .filter((name) => FILTER_NAMES.includes(name));
  return Array.isArray(present) ? itemsOf(said) : said;
}

function queueKindOf(conf: NovaConf): readonly [option: string, kind: string] | undefined {
  const isOn = (option: string) => isTrueWord(valueOf(conf, 'oslo_messaging_rabbit', option) ?? '');
  if (isOn('rabbit_quorum_queue')) return ['rabbit_quorum_queue', 'quorum'];
  return isOn('amqp_durable_queues') ? ['amqp_durable_queues', 'durable'] : undefined;
}
