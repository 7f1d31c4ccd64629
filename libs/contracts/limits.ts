/*
 * Limits of one message. Above these a message is refused `invalid_argument / too_many` or `too_long`:
 * no sender can make a service hold or walk more than it is built for. Part of the wire contract (`proto/README.md`).
 */

/** Instances of one build request. */
export const MAX_INSTANCES_PER_REQUEST = 1_000;
/** Kinds of a gang's members besides the first: leaders, workers, parameter servers. */
export const MAX_FURTHER_KINDS = 15;
/** Bytes of a request spec, times the instances that are to be built by it: each host gets its copy with the order. */
export const MAX_SPEC_BYTES_PER_REQUEST = 67_108_864;
/** Alternates that travel with one selection. */
export const MAX_ALTERNATES = 100;
/** Bytes of one sealed allocation request. */
export const MAX_ALLOCATION_REQUEST_BYTES = 16_384;
/** Bytes that a driver hands over with an instance that is moved. */
export const MAX_HANDOVER_BYTES = 65_536;
/** Bytes that agents remember of one node. */
export const MAX_NODE_JOURNAL_BYTES = 262_144;
/** Resource classes in one set of amounts. */
export const MAX_RESOURCE_CLASSES = 256;
/** Traits, aggregates, uuids or host names in one list of a request spec. */
export const MAX_NAMES = 1_024;
/** Granular groups of one request. */
export const MAX_REQUEST_GROUPS = 64;
/** Extra specs, image properties, capabilities, reasons: pairs in one map. */
export const MAX_PAIRS = 1_024;
/** Attempts told of one instance. */
export const MAX_ATTEMPTS = 128;
/** Instances that are moved by one call. */
export const MAX_MOVES = 500;
/** Rows of one page of a list. */
export const MAX_PAGE = 1_000;
/** Days of usage told of one project. */
export const MAX_USAGE_DAYS = 3_660;
/** Projects, or shares of them, whose usage is told in one answer. */
export const MAX_USAGE_PROJECTS = 50;
/** Amounts of shares in one answer: days by classes. */
export const MAX_USAGE_AMOUNTS = 20_000;
/** Doubts in one answer. */
export const MAX_DOUBTS_LISTED = 4_000;
/** Hosts that one agent process carries. */
export const MAX_HOSTS_PER_AGENT = 20_000;
/** Hosts that a certificate of a refusal names. */
export const MAX_CERTIFIED_HOSTS = 100_000;
/** Length of a lease of hosts, or of a place in a pool: nobody else gets them, nor evacuates them, before it ends. */
export const MAX_LEASE_MS = 86_400_000;
/** Instances that one host reports, or that one discrepancy names. */
export const MAX_INSTANCES_PER_HOST = 100_000;
/** Providers below the root of one host. */
export const MAX_NESTED_PROVIDERS = 512;
/** Bytes of a project id as it is encoded in the routing keys of events, which have 255. */
export const MAX_PROJECT_ID_BYTES = 180;
/** Bytes of a service host's name: it stands in the name of its order queue, and twice in the keys that lead there. */
export const MAX_SERVICE_HOST_BYTES = 100;
/** Bytes of a name, an id or a symbol. */
export const MAX_NAME_BYTES = 255;
/** Bytes of a sentence for people. */
export const MAX_TEXT_BYTES = 16_384;
