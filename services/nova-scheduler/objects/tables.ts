import { readInstanceTopology, readNetworkMetadata, readPciRequests } from './hardware';
import { IMAGE_PROPERTIES } from './image-properties';
import { amount, type Field, flag, identifier, list, mapOf, object, type Read, text, unused } from './versioned-object';

/* Objects in a call of the scheduler, of Nova 26 to 33: a line for each field, with the version that brought it. */

const ignored: Field<undefined> = { read: unused };
/** Columns that Nova's database adds to a row. */
const PERSISTENT = { created_at: ignored, updated_at: ignored, deleted_at: ignored, deleted: ignored };
const texts = list(text);

const readFlavor = object({
  name: 'Flavor',
  newest: '1.2',
  fields: {
    ...PERSISTENT,
    id: ignored,
    name: { read: text },
    memory_mb: { read: amount },
    vcpus: { read: amount },
    root_gb: { read: amount },
    ephemeral_gb: { read: amount },
    flavorid: ignored,
    swap: { read: amount },
    rxtx_factor: ignored,
    vcpu_weight: ignored,
    disabled: ignored,
    is_public: ignored,
    extra_specs: { read: mapOf(text) },
    projects: ignored,
    description: { read: unused, since: '1.2' },
  },
});

const readImage = object({
  name: 'ImageMeta',
  newest: '1.8',
  fields: {
    id: { read: text },
    name: ignored,
    status: ignored,
    visibility: ignored,
    protected: ignored,
    checksum: ignored,
    owner: ignored,
    size: ignored,
    virtual_size: ignored,
    container_format: ignored,
    disk_format: { read: text },
    created_at: ignored,
    updated_at: ignored,
    tags: ignored,
    direct_url: ignored,
    min_ram: ignored,
    min_disk: ignored,
    properties: { read: object({ name: 'ImageMetaProps', newest: '1.43', fields: IMAGE_PROPERTIES }) },
  },
});

const readCell = object({
  name: 'CellMapping',
  newest: '1.1',
  fields: {
    created_at: ignored,
    updated_at: ignored,
    id: ignored,
    uuid: { read: text },
    name: ignored,
    // Addresses with passwords in them: not read, so never logged.
    transport_url: ignored,
    database_connection: ignored,
    disabled: { read: unused, since: '1.1' },
  },
});

const readDestination = object({
  name: 'Destination',
  newest: '1.4',
  fields: {
    host: { read: text },
    node: { read: text },
    cell: { read: readCell, since: '1.1' },
    aggregates: { read: texts, since: '1.2' },
    allow_cross_cell_move: { read: flag, since: '1.3' },
    forbidden_aggregates: { read: texts, since: '1.4' },
  },
});

const readInstanceGroup = object({
  name: 'InstanceGroup',
  newest: '1.11',
  fields: {
    ...PERSISTENT,
    id: ignored,
    user_id: ignored,
    project_id: ignored,
    uuid: { read: text },
    name: ignored,
    policies: { read: texts },
    members: { read: texts },
    hosts: { read: texts, since: '1.10' },
    policy: { read: text, since: '1.11' },
    _rules: { read: mapOf(text), since: '1.11' },
  },
});

const readRequestGroup = object({
  name: 'RequestGroup',
  newest: '1.3',
  fields: {
    use_same_provider: ignored,
    resources: { read: mapOf(amount) },
    required_traits: { read: texts },
    forbidden_traits: { read: texts },
    aggregates: { read: list(texts) },
    requester_id: { read: text, since: '1.1' },
    provider_uuids: { read: unused, since: '1.1' },
    in_tree: { read: text, since: '1.2' },
    forbidden_aggregates: { read: texts, since: '1.3' },
  },
});

const readLevelParams = object({
  name: 'RequestLevelParams',
  newest: '1.1',
  fields: {
    root_required: { read: texts },
    root_forbidden: { read: texts },
    same_subtree: { read: list(texts), since: '1.1' },
  },
});

const readRetries = object({
  name: 'SchedulerRetries',
  newest: '1.1',
  fields: { num_attempts: { read: amount }, hosts: ignored },
});

const readLimits = object({
  name: 'SchedulerLimits',
  newest: '1.0',
  fields: { numa_topology: ignored, vcpu: ignored, disk_gb: ignored, memory_mb: ignored },
});

/** The request of a call. */
export const readRequestSpec = object({
  name: 'RequestSpec',
  newest: '1.15',
  fields: {
    id: ignored,
    image: { read: readImage },
    numa_topology: { read: readInstanceTopology },
    pci_requests: { read: readPciRequests },
    project_id: { read: identifier },
    user_id: { read: identifier, since: '1.9' },
    availability_zone: { read: text },
    flavor: { read: readFlavor },
    num_instances: { read: amount },
    ignore_hosts: { read: texts },
    force_hosts: { read: texts },
    force_nodes: { read: texts },
    requested_destination: { read: readDestination, since: '1.6' },
    retry: { read: readRetries },
    limits: { read: readLimits },
    instance_group: { read: readInstanceGroup },
    scheduler_hints: { read: mapOf(texts) },
    instance_uuid: { read: text },
    security_groups: { read: unused, since: '1.8' },
    network_metadata: { read: readNetworkMetadata, since: '1.10' },
    is_bfv: { read: flag, since: '1.11' },
    requested_resources: { read: list(readRequestGroup), since: '1.12' },
    request_level_params: { read: readLevelParams, since: '1.13' },
    requested_networks: { read: unused, since: '1.14' },
  },
});

export type SpecObject = ReturnType<typeof readRequestSpec>;
export type GroupObject = ReturnType<typeof readRequestGroup>;

/* Objects in fanouts, of which few fields matter. */

const readAggregate = object({
  name: 'Aggregate',
  newest: '1.3',
  isPartial: true,
  fields: {
    id: { read: amount },
    uuid: { read: text },
    hosts: { read: texts },
    metadata: { read: mapOf(text) },
  },
});

export type AggregateObject = ReturnType<typeof readAggregate>;

const readAggregateList = object({
  name: 'AggregateList',
  newest: '1.2',
  isPartial: true,
  fields: { objects: { read: list(readAggregate) } },
});

/** An aggregate, a list of them, or a list object: older computes send each. */
export const readAggregates: Read<readonly AggregateObject[]> = (value, path) => {
  if (Array.isArray(value)) return value.map((one, i) => readAggregate(one, `${path}[${i}]`));
  const isList = (value as { readonly 'nova_object.name'?: unknown } | null)?.['nova_object.name'] === 'AggregateList';
  return isList ? (readAggregateList(value, path).objects ?? []) : [readAggregate(value, path)];
};

const readInstanceList = object({
  name: 'InstanceList',
  newest: '2.6',
  isPartial: true,
  fields: {
    objects: {
      read: list(object({ name: 'Instance', newest: '2.8', isPartial: true, fields: { uuid: { read: text } } })),
    },
  },
});

/** The uuids in a list of instances. */
export const readInstanceUuids: Read<readonly string[]> = (value, path) =>
  (readInstanceList(value, path).objects ?? []).flatMap(({ uuid }) => uuid ?? []);
