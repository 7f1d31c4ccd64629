import { QUEUE_KINDS } from '#libs/oslo/target';
import {
  booleanOption,
  type ConfigOf,
  durationOption,
  enumOption,
  intOption,
  listOption,
  numberOption,
  type Option,
  stringOption,
  textsOption,
} from '#libs/runtime/config';
import { processOptions } from '#libs/runtime/options';
import { DEFAULT_FILTERS, FILTER_NAMES } from './filters/registry';

export { DATABASE_FILTERS, FILTER_NAMES } from './filters/registry';
export { DATABASE_WEIGHERS, WEIGHERS, type WeigherName } from './weighers/registry';
export type { Weigher } from './weighers/weigher';

const HTTP_URL = /^https?:\/\/\S+$/;

function weight(name: string, fallback: number, help: string): Option<number> {
  return numberOption({ env: `BERTH_NOVA_WEIGHT_${name}`, default: fallback, min: -1e9, max: 1e9, help });
}

function interval(name: string, fallback: number, help: string): Option<number> {
  return durationOption({ env: `BERTH_NOVA_${name}_INTERVAL_MS`, default: fallback, min: 0, max: 86_400_000, help });
}

const RATIO = /^[^=\s]+=-?\d+(\.\d+)?$/;

function ratios(name: string, help: string): Option<readonly string[]> {
  const problem = (text: string) => (RATIO.test(text) ? undefined : `must have NAME=FACTOR, not '${text}'`);
  return textsOption({
    env: `BERTH_NOVA_${name}`,
    default: [],
    range: 'NAME=FACTOR,...',
    separator: /,/,
    problem,
    help,
  });
}

/** Settings of the scheduler for Nova; those that have a name in nova.conf say so in its README. */
export const novaOptions = {
  transportUrl: stringOption({
    env: 'BERTH_NOVA_TRANSPORT_URL',
    default: '',
    pattern: /^(rabbit|amqps?):\/\/[^\s,]+$/,
    range: 'rabbit://user:password@host:5672/vhost',
    secret: true,
    help: "The broker of Nova's services: their transport_url, with one host. The password in it is not shown.",
  }),
  exchange: stringOption({
    env: 'BERTH_NOVA_EXCHANGE',
    default: 'nova',
    help: "The exchange of Nova's services (control_exchange).",
  }),
  topic: stringOption({
    env: 'BERTH_NOVA_TOPIC',
    default: 'scheduler',
    help: 'The topic of the scheduler. Use another one to try Berth beside the stock scheduler.',
  }),
  host: stringOption({
    env: 'BERTH_NOVA_HOST',
    default: processOptions.processName.default,
    help: 'The name of this scheduler among those of the topic.',
  }),
  queues: enumOption({
    env: 'BERTH_NOVA_QUEUES',
    default: 'transient',
    values: QUEUE_KINDS,
    help: "How Nova's services declare their queues: transient, durable (amqp_durable_queues) or quorum (rabbit_quorum_queue).",
  }),
  shadow: booleanOption({
    env: 'BERTH_NOVA_SHADOW',
    default: false,
    help: 'Decides on a copy of each call, claims and answers nothing, and compares with what the stock scheduler claims.',
  }),
  shadowWaitMs: durationOption({
    env: 'BERTH_NOVA_SHADOW_WAIT_MS',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: "Time for which a shadow waits for the stock scheduler's claim.",
  }),
  shadowKept: intOption({
    env: 'BERTH_NOVA_SHADOW_KEPT',
    default: 1_000,
    min: 0,
    max: 100_000,
    unit: 'instances',
    help: 'Number of recent differences that a shadow keeps for its report, about 1 kB each.',
  }),
  fallbackTopic: stringOption({
    env: 'BERTH_NOVA_FALLBACK_TOPIC',
    default: '',
    help: "The topic of a stock nova-scheduler that gets the requests which need NUMATopologyFilter or PciPassthroughFilter when Nova's database is not read; empty refuses them.",
  }),
  prefetch: intOption({
    env: 'BERTH_NOVA_PREFETCH',
    default: 64,
    min: 1,
    max: 1_000,
    unit: 'calls',
    help: 'Calls handled at once.',
  }),
  maxMessageBytes: intOption({
    env: 'BERTH_NOVA_MAX_MESSAGE_BYTES',
    default: 4_194_304,
    min: 1_024,
    max: 134_217_728,
    unit: 'bytes',
    help: 'The largest message of Nova that is read.',
  }),
  maxInstances: intOption({
    env: 'BERTH_NOVA_MAX_INSTANCES',
    default: 1_000,
    min: 1,
    max: 1_000,
    unit: 'instances',
    help: 'Instances that one call may place.',
  }),
  reconnectDelayMs: durationOption({
    env: 'BERTH_NOVA_RECONNECT_DELAY_MS',
    default: 3_000,
    min: 10,
    max: 600_000,
    help: 'The longest pause between two attempts to reach the broker.',
  }),
  apiUrl: stringOption({
    env: 'BERTH_NOVA_API_URL',
    default: '',
    pattern: HTTP_URL,
    range: 'http://... or https://...',
    help: "Nova's API, http://controller:8774/v2.1, for services, nodes, aggregates and instances.",
  }),
  keystoneUrl: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_URL',
    default: '',
    pattern: HTTP_URL,
    range: 'http://... or https://...',
    help: "Keystone's URL, for a token for Nova's API.",
  }),
  keystoneUsername: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_USERNAME',
    default: 'nova',
    help: "The user that asks Nova's API; it needs to read os-services, os-hypervisors and os-aggregates.",
  }),
  keystonePassword: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_PASSWORD',
    default: '',
    secret: true,
    help: 'The password of that user.',
  }),
  keystoneProject: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_PROJECT',
    default: 'service',
    help: 'The project in which that user has its role.',
  }),
  keystoneUserDomain: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_USER_DOMAIN',
    default: 'Default',
    help: 'The name of the domain of that user.',
  }),
  keystoneProjectDomain: stringOption({
    env: 'BERTH_NOVA_KEYSTONE_PROJECT_DOMAIN',
    default: 'Default',
    help: 'The name of the domain of that project.',
  }),
  keystoneTimeoutMs: durationOption({
    env: 'BERTH_NOVA_KEYSTONE_TIMEOUT_MS',
    default: 10_000,
    min: 50,
    max: 60_000,
    help: 'Time limit of a call to Keystone.',
  }),
  keystoneRefusedCacheMs: durationOption({
    env: 'BERTH_NOVA_KEYSTONE_REFUSED_CACHE_MS',
    default: 10_000,
    min: 0,
    max: 600_000,
    help: 'Time for which refused credentials are not sent again: Keystone may lock the user out.',
  }),
  apiTimeoutMs: durationOption({
    env: 'BERTH_NOVA_API_TIMEOUT_MS',
    default: 60_000,
    min: 100,
    max: 600_000,
    help: "Time limit of reading one kind of facts from Nova's API, all pages together.",
  }),
  cells: listOption({
    env: 'BERTH_NOVA_CELLS',
    default: [],
    help: "Cells of hosts, which only Nova's database has (nova-manage cell_v2 list_cells): UUID for all hosts, or UUID=HOST and UUID=PREFIX*, the first that matches.",
  }),
  placementUrl: stringOption({
    env: 'BERTH_NOVA_PLACEMENT_URL',
    default: '',
    pattern: HTTP_URL,
    range: 'http://... or https://...',
    help: "OpenStack's Placement, where it stays: claims go there, and the store holds a copy of it that berth placement import --follow keeps. Empty claims in the store.",
  }),
  placementToken: stringOption({
    env: 'BERTH_NOVA_PLACEMENT_TOKEN',
    default: '',
    secret: true,
    help: 'The token for that Placement; empty logs in to Keystone.',
  }),
  placementTimeoutMs: durationOption({
    env: 'BERTH_NOVA_PLACEMENT_TIMEOUT_MS',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of a request to that Placement.',
  }),
  databaseUrl: stringOption({
    env: 'BERTH_NOVA_DATABASE_URL',
    default: '',
    pattern: /^(mysql|mariadb)(\+\w+)?:\/\/[^\s/]+\/\w+/,
    range: 'mysql://user:password@host:3306/nova_api',
    secret: true,
    help: "Nova's API database, for cells, NUMA nodes and PCI devices; cells are found through it. Its user needs SELECT only, there and in the cells' databases, and the package mysql2.",
  }),
  servicesIntervalMs: interval('SERVICES', 5_000, 'Interval of reading services: up, down, disabled.'),
  nodesIntervalMs: interval('NODES', 30_000, 'Interval of reading compute nodes.'),
  aggregatesIntervalMs: interval(
    'AGGREGATES',
    30_000,
    'Interval of reading host aggregates; changes also arrive by fanout.',
  ),
  instancesIntervalMs: interval(
    'INSTANCES',
    600_000,
    'Interval of reading instances by host, which is much work for Nova; changes also arrive by fanout and allocations. 0: once.',
  ),
  hardwareIntervalMs: interval(
    'HARDWARE',
    10_000,
    "Interval of reading changed nodes from the cells' databases; also read before each request that needs hardware.",
  ),
  factsMaxAgeMs: durationOption({
    env: 'BERTH_NOVA_FACTS_MAX_AGE_MS',
    default: 120_000,
    min: 1_000,
    max: 86_400_000,
    help: "Age of services or nodes above which decisions mention it, in the log and in a fault's reason.",
  }),
  release: intOption({
    env: 'BERTH_NOVA_RELEASE',
    default: 26,
    min: 26,
    max: 33,
    unit: 'major release',
    help: 'The oldest Nova release on compute nodes: traits that it does not report are not required.',
  }),
  filters: listOption({
    env: 'BERTH_NOVA_FILTERS',
    default: DEFAULT_FILTERS,
    values: FILTER_NAMES,
    help: "Nova's enabled_filters. Without BERTH_NOVA_DATABASE_URL, NUMATopologyFilter, PciPassthroughFilter and MetricsFilter hand their requests over, or refuse them.",
  }),
  isolatedHosts: listOption({
    env: 'BERTH_NOVA_ISOLATED_HOSTS',
    default: [],
    help: 'For IsolatedHostsFilter (isolated_hosts).',
  }),
  isolatedImages: listOption({
    env: 'BERTH_NOVA_ISOLATED_IMAGES',
    default: [],
    help: 'UUIDs, for IsolatedHostsFilter (isolated_images).',
  }),
  restrictIsolatedHosts: booleanOption({
    env: 'BERTH_NOVA_RESTRICT_ISOLATED_HOSTS',
    default: true,
    help: 'For IsolatedHostsFilter (restrict_isolated_hosts_to_isolated_images).',
  }),
  imageIsolationNamespace: stringOption({
    env: 'BERTH_NOVA_IMAGE_ISOLATION_NAMESPACE',
    default: '',
    help: 'For AggregateImagePropertiesIsolation: namespace of the names that are compared, empty for all (aggregate_image_properties_isolation_namespace).',
  }),
  imageIsolationSeparator: stringOption({
    env: 'BERTH_NOVA_IMAGE_ISOLATION_SEPARATOR',
    default: '.',
    help: 'For AggregateImagePropertiesIsolation: separator of namespace and name (aggregate_image_properties_isolation_separator).',
  }),
  maxInstancesPerHost: intOption({
    env: 'BERTH_NOVA_MAX_INSTANCES_PER_HOST',
    default: 50,
    min: 1,
    max: 1_000_000,
    unit: 'instances',
    help: 'For NumInstancesFilter (max_instances_per_host).',
  }),
  maxIoOpsPerHost: intOption({
    env: 'BERTH_NOVA_MAX_IO_OPS_PER_HOST',
    default: 8,
    min: 1,
    max: 1_000_000,
    unit: 'operations',
    help: 'For IoOpsFilter (max_io_ops_per_host).',
  }),
  defaultAvailabilityZone: stringOption({
    env: 'BERTH_NOVA_DEFAULT_AVAILABILITY_ZONE',
    default: 'nova',
    help: 'The zone of hosts without one in any aggregate (default_availability_zone).',
  }),
  metricsWeightSetting: ratios(
    'METRICS_WEIGHT_SETTING',
    'For MetricsFilter and MetricsWeigher ([metrics] weight_setting).',
  ),
  metricsRequired: booleanOption({
    env: 'BERTH_NOVA_METRICS_REQUIRED',
    default: true,
    help: 'A request fails when a host that would be weighed lacks a metric ([metrics] required).',
  }),
  metricsWeightOfUnavailable: numberOption({
    env: 'BERTH_NOVA_METRICS_WEIGHT_OF_UNAVAILABLE',
    default: -10_000,
    min: -1e9,
    max: 1e9,
    help: 'Raw weight of a host that lacks a metric, where none is required ([metrics] weight_of_unavailable).',
  }),
  imagePropsWeightSetting: ratios(
    'IMAGE_PROPS_WEIGHT_SETTING',
    'For ImagePropertiesWeigher, empty for all alike (image_props_weight_setting).',
  ),
  hostSubsetSize: intOption({
    env: 'BERTH_NOVA_HOST_SUBSET_SIZE',
    default: 1,
    min: 1,
    max: 1_000,
    unit: 'hosts',
    help: 'Number of the best hosts of which one is drawn (host_subset_size).',
  }),
  shuffleBestSameWeighedHosts: booleanOption({
    env: 'BERTH_NOVA_SHUFFLE_BEST_SAME_WEIGHED_HOSTS',
    default: false,
    help: 'Draws one of the best hosts of equal weight (shuffle_best_same_weighed_hosts).',
  }),
  packingHostNumaCells: booleanOption({
    env: 'BERTH_NOVA_PACKING_HOST_NUMA_CELLS',
    default: false,
    help: 'NUMA nodes of a host that are in use are filled first ([compute] packing_host_numa_cells_allocation_strategy, as on the hosts).',
  }),
  maxSearchSteps: intOption({
    env: 'BERTH_NOVA_MAX_SEARCH_STEPS',
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    unit: 'steps',
    help: 'Limit of the search for one request, in providers tried: about half a second for the default. Hosts found so far are used.',
  }),
  maxRequestGroups: intOption({
    env: 'BERTH_NOVA_MAX_REQUEST_GROUPS',
    default: 100,
    min: 1,
    max: 1_000,
    unit: 'groups',
    help: 'Request groups of one call: of flavor, ports, device profiles and PCI requests together.',
  }),
  maxAttempts: intOption({
    env: 'BERTH_NOVA_MAX_ATTEMPTS',
    default: 3,
    min: 1,
    max: 50,
    unit: 'hosts',
    help: 'A host and its alternates ([scheduler] max_attempts).',
  }),
  keptDecisions: intOption({
    env: 'BERTH_NOVA_KEPT_DECISIONS',
    default: 10_000,
    min: 0,
    max: 1_000_000,
    unit: 'decisions',
    help: "Number of recent decisions that the store keeps for explain --instance, including those of Berth's schedulers: as BERTH_SCHEDULER_KEPT_DECISIONS.",
  }),
  recordFolder: stringOption({
    env: 'BERTH_NOVA_RECORD_FOLDER',
    default: '',
    range: 'a folder',
    help: 'Folder that records each decision with its inputs, for berth explain --at and berth record, also that of BERTH_SCHEDULER_RECORD_FOLDER; empty records none. Only their owner may read its files.',
  }),
  recordMaxMb: intOption({
    env: 'BERTH_NOVA_RECORD_MAX_MB',
    default: 1_024,
    min: 8,
    max: 10_000_000,
    unit: 'MB',
    help: 'Size limit of the record; beyond it the oldest part is deleted. At least a copy of all rows is kept.',
  }),
  recordMaxAgeMs: durationOption({
    env: 'BERTH_NOVA_RECORD_MAX_AGE_MS',
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    help: 'Age at which a part of the record is deleted.',
  }),
  claimAttempts: intOption({
    env: 'BERTH_NOVA_CLAIM_ATTEMPTS',
    default: 20,
    min: 1,
    max: 1_000,
    unit: 'decisions',
    help: 'Limit of repeated decisions when other requests took the hosts first.',
  }),
  catchUpMs: durationOption({
    env: 'BERTH_NOVA_CATCH_UP_MS',
    default: 5_000,
    min: 10,
    max: 60_000,
    help: 'Time limit of waiting until the mirror has the change that refused a claim.',
  }),
  fallbackPcpuQuery: booleanOption({
    env: 'BERTH_NOVA_FALLBACK_PCPU_QUERY',
    default: true,
    help: 'Lets pinned processors be VCPU on hosts without PCPU (not disable_fallback_pcpu_query).',
  }),
  limitTenantsToPlacementAggregate: booleanOption({
    env: 'BERTH_NOVA_LIMIT_TENANTS_TO_PLACEMENT_AGGREGATE',
    default: false,
    help: 'Projects that aggregates name by filter_tenant_id get hosts of those only (limit_tenants_to_placement_aggregate).',
  }),
  placementAggregateRequiredForTenants: booleanOption({
    env: 'BERTH_NOVA_PLACEMENT_AGGREGATE_REQUIRED_FOR_TENANTS',
    default: false,
    help: 'Projects without such an aggregate get no host (placement_aggregate_required_for_tenants).',
  }),
  enableIsolatedAggregateFiltering: booleanOption({
    env: 'BERTH_NOVA_ENABLE_ISOLATED_AGGREGATE_FILTERING',
    default: false,
    help: 'Aggregates with trait:...=required are for requests with that trait (enable_isolated_aggregate_filtering).',
  }),
  queryPlacementForImageTypeSupport: booleanOption({
    env: 'BERTH_NOVA_QUERY_PLACEMENT_FOR_IMAGE_TYPE_SUPPORT',
    default: false,
    help: "Hosts must support the image's disk format (query_placement_for_image_type_support).",
  }),
  imageMetadataPrefilter: booleanOption({
    env: 'BERTH_NOVA_IMAGE_METADATA_PREFILTER',
    default: false,
    help: "Hosts must have the traits of the image's properties (image_metadata_prefilter).",
  }),
  weightCpu: weight('CPU', 1, 'cpu_weight_multiplier.'),
  weightRam: weight('RAM', 1, 'ram_weight_multiplier.'),
  weightDisk: weight('DISK', 1, 'disk_weight_multiplier.'),
  weightIoOps: weight('IO_OPS', -1, 'io_ops_weight_multiplier.'),
  weightNumInstances: weight('NUM_INSTANCES', 0, 'num_instances_weight_multiplier.'),
  weightHypervisorVersion: weight(
    'HYPERVISOR_VERSION',
    0,
    'hypervisor_version_weight_multiplier; Nova 28 and later have 1.',
  ),
  weightBuildFailure: weight(
    'BUILD_FAILURE',
    1_000_000,
    "build_failure_weight_multiplier, against a host; by Nova's database.",
  ),
  weightPci: weight('PCI', 1, "pci_weight_multiplier; by Nova's database."),
  weightSoftAffinity: weight('SOFT_AFFINITY', 1, 'soft_affinity_weight_multiplier.'),
  weightSoftAntiAffinity: weight('SOFT_ANTI_AFFINITY', 1, 'soft_anti_affinity_weight_multiplier.'),
  weightMetrics: weight('METRICS', 1, "[metrics] weight_multiplier; by Nova's database."),
  weightImageProperties: weight('IMAGE_PROPERTIES', 0, "image_props_weight_multiplier; by Nova's database."),
  weightCrossCell: weight('CROSS_CELL', 1_000_000, 'cross_cell_move_weight_multiplier.'),
} as const;

export type NovaConfig = ConfigOf<typeof novaOptions>;
