import { usageOptions } from '#libs/fleet-settings/usage-options';
import { claimKeyOption, claimTtlOption } from '#libs/placement/sealed/claim-key';
import {
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
import { BETWEEN_RULES, problemOfFilter, problemOfWeigher } from './declared/rules';
import { FILTER_NAMES } from './filters/registry';
import { PROFILES } from './weighers/profiles';

function weightOption(name: string, fallback: number, help: string) {
  return numberOption({ env: `BERTH_SCHEDULER_WEIGHT_${name}`, default: fallback, min: -1000, max: 1000, help });
}

/** A setting that the profile decides unless it is set. */
function byProfile(option: Option<number>): Option<number | undefined> {
  return { ...option, default: undefined };
}

/** Settings of the scheduler. `services/scheduler/README.md` tells what each filter and weigher does. */
export const schedulerOptions = {
  summaryIntervalMs: durationOption({
    env: 'BERTH_SCHEDULER_SUMMARY_INTERVAL_MS',
    default: 1_000,
    min: 10,
    max: 60_000,
    help: "Interval of renewing the cell's summary for the top of the fleet.",
  }),
  claimKey: claimKeyOption,
  claimTtlMs: claimTtlOption,
  allocationRequests: enumOption({
    env: 'BERTH_SCHEDULER_ALLOCATION_REQUESTS',
    default: 'sealed',
    values: ['sealed', 'reference'],
    help: 'Form of the allocation requests of alternates: sealed in full, or a reference to the store, which keeps them for a while.',
  }),
  referenceTtlMs: durationOption({
    env: 'BERTH_SCHEDULER_REFERENCE_TTL_MS',
    default: 3_600_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Time for which the store keeps referenced allocation requests; later, destinations are selected again.',
  }),
  maxReferences: intOption({
    env: 'BERTH_SCHEDULER_MAX_REFERENCES',
    default: 200_000,
    min: 1_000,
    max: 10_000_000,
    unit: 'alternates',
    help: 'Limit of referenced allocation requests in the store, about 350 bytes each; beyond it the earliest to expire go first.',
  }),
  leaseMs: durationOption({
    env: 'BERTH_SCHEDULER_LEASE_MS',
    default: 900_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Longest lease of alternates for a request that asks for it; a lease ends with the build, or after this time.',
  }),
  nominationMs: durationOption({
    env: 'BERTH_SCHEDULER_NOMINATION_MS',
    default: 600_000,
    min: 1_000,
    max: 3_600_000,
    help: "Time for which capacity freed by preemption is kept from requests of the preemptor's priority and lower ones.",
  }),
  filters: listOption({
    env: 'BERTH_SCHEDULER_FILTERS',
    default: FILTER_NAMES,
    values: FILTER_NAMES,
    help: 'The filters that a host must pass. Omitting one disables its rule; claims are checked in any case.',
  }),
  declaredFilters: textsOption({
    env: 'BERTH_SCHEDULER_DECLARED_FILTERS',
    default: [],
    range: 'NAME: EXPRESSION; ...',
    separator: BETWEEN_RULES,
    problem: problemOfFilter,
    help: "Filters of the operator's own, each a CEL expression over host, load and request that is true where a host passes.",
  }),
  declaredWeighers: textsOption({
    env: 'BERTH_SCHEDULER_DECLARED_WEIGHERS',
    default: [],
    range: 'NAME * WEIGHT: EXPRESSION; ...',
    separator: BETWEEN_RULES,
    problem: problemOfWeigher,
    help: "Weighers of the operator's own, each a CEL expression that gives a host 0 to 1, times its weight.",
  }),
  profile: enumOption({
    env: 'BERTH_SCHEDULER_PROFILE',
    default: 'spread',
    values: PROFILES,
    help: 'Placement strategy: load hosts evenly, fill them one by one, or keep capacity for the shapes in demand. It sets the weights, and the subset, that have no default of their own.',
  }),
  weightCpu: byProfile(weightOption('CPU', 1, 'Weight of the free share of VCPU; negative packs hosts full.')),
  weightRam: byProfile(weightOption('RAM', 1, 'Weight of the free share of MEMORY_MB; negative packs hosts full.')),
  weightDisk: byProfile(weightOption('DISK', 1, 'Weight of the free share of DISK_GB; negative packs hosts full.')),
  weightHeadroom: byProfile(
    weightOption('HEADROOM', 0, 'Weight of hosts that lose little capacity for the shapes in demand.'),
  ),
  weightIoOps: byProfile(
    weightOption('IO_OPS', -1, 'Weight of builds in progress on the host; negative avoids busy hosts.'),
  ),
  weightBuildFailures: weightOption('BUILD_FAILURES', 4, 'Weight against hosts with recent build failures.'),
  weightLeases: weightOption('LEASES', 4, "Weight against capacity that is leased for other requests' alternates."),
  weightPreferredTraits: weightOption('PREFERRED_TRAITS', 4, 'Weight of the preferred traits that the host has.'),
  weightPreferredResources: weightOption(
    'PREFERRED_RESOURCES',
    4,
    'Weight of the preferred amounts that the host has free.',
  ),
  weightSoftAffinity: weightOption('SOFT_AFFINITY', 8, 'Weight of hosts with members of a soft-affinity group.'),
  weightSoftAntiAffinity: weightOption(
    'SOFT_ANTI_AFFINITY',
    8,
    'Weight of hosts without members of a soft-anti-affinity group.',
  ),
  hostSubsetSize: byProfile(
    intOption({
      env: 'BERTH_SCHEDULER_HOST_SUBSET_SIZE',
      default: 3,
      min: 1,
      max: 1_000,
      unit: 'hosts',
      help: 'Number of the best hosts, if they weigh nearly the same, of which one is drawn, so that schedulers choose differently.',
    }),
  ),
  maxInstancesPerHost: intOption({
    env: 'BERTH_SCHEDULER_MAX_INSTANCES_PER_HOST',
    default: 0,
    min: 0,
    max: 1_000_000,
    unit: 'instances',
    help: 'Hosts with as many instances take no more (instance_limit filter); 0 is no limit.',
  }),
  maxBuildsPerHost: intOption({
    env: 'BERTH_SCHEDULER_MAX_BUILDS_PER_HOST',
    default: 0,
    min: 0,
    max: 1_000_000,
    unit: 'builds',
    help: 'Hosts with as many builds in progress take no more (build_limit filter); 0 is no limit.',
  }),
  claimSettleMs: durationOption({
    env: 'BERTH_SCHEDULER_CLAIM_SETTLE_MS',
    default: 2_000,
    min: 0,
    max: 600_000,
    help: 'Time for which a claim counts as a build in progress, unless its host reports a change before.',
  }),
  claimAttempts: intOption({
    env: 'BERTH_SCHEDULER_CLAIM_ATTEMPTS',
    default: 20,
    min: 1,
    max: 1_000,
    unit: 'decisions',
    help: 'Limit of repeated decisions when other requests took the hosts first; then the caller must ask again.',
  }),
  confirmTimeoutMs: durationOption({
    env: 'BERTH_SCHEDULER_CONFIRM_TIMEOUT_MS',
    default: 500,
    min: 20,
    max: 10_000,
    help: "Time limit of a host's answer when it is to confirm a selection (--confirm host); silence counts as a refusal.",
  }),
  confirmHosts: intOption({
    env: 'BERTH_SCHEDULER_CONFIRM_HOSTS',
    default: 5,
    min: 1,
    max: 100,
    unit: 'rounds',
    help: 'Limit of asking further hosts for one request after refusals or silence; then there is no valid host.',
  }),
  maxInstances: intOption({
    env: 'BERTH_SCHEDULER_MAX_INSTANCES',
    default: 1_000,
    min: 1,
    max: 1_000,
    unit: 'instances',
    help: 'Instances that one request may place at once.',
  }),
  rankedHosts: intOption({
    env: 'BERTH_SCHEDULER_RANKED_HOSTS',
    default: 10_000_000,
    min: 1_000,
    max: 1_000_000_000,
    unit: 'hosts',
    help: 'Hosts kept ranked over all classes of requests, at 8 bytes each, 16 where weights go by prices; the class asked for least lately is forgotten.',
  }),
  hostTimeoutMs: durationOption({
    env: 'BERTH_SCHEDULER_HOST_TIMEOUT_MS',
    default: 60_000,
    min: 500,
    max: 86_400_000,
    help: "Time limit of an agent's silence; then its host is down until it reports again.",
  }),
  failureHalfLifeMs: durationOption({
    env: 'BERTH_SCHEDULER_FAILURE_HALF_LIFE_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Half-life of a build failure (build_failures weigher).',
  }),
  quarantineFailures: intOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_FAILURES',
    default: 4,
    min: 0,
    max: 1_000,
    unit: 'failures',
    help: 'Refused reports in a row after which a host is left out and probed; 0: never, nor for failed builds.',
  }),
  quarantineProjects: intOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_PROJECTS',
    default: 2,
    min: 1,
    max: 16,
    unit: 'projects',
    help: 'Number of projects with builds that failed on a host in a row and ran elsewhere, after which it is left out and probed.',
  }),
  quarantineMaxPercent: intOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_MAX_PERCENT',
    default: 25,
    min: 0,
    max: 100,
    unit: '%',
    help: 'Largest share of hosts in quarantine at once, at least one host; 0: none.',
  }),
  quarantinePauseMs: durationOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_PAUSE_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: 'Time in quarantine before a host is probed with one build; each further failure doubles it.',
  }),
  quarantineMaxPauseMs: durationOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_MAX_PAUSE_MS',
    default: 3_600_000,
    min: 100,
    max: 604_800_000,
    help: 'The longest pause between two probes of a host in quarantine.',
  }),
  discrepancyGraceMs: durationOption({
    env: 'BERTH_SCHEDULER_DISCREPANCY_GRACE_MS',
    default: 30_000,
    min: 0,
    max: 3_600_000,
    help: 'Age of a claim from which its absence in a host report is sent to conductors.',
  }),
  maxReportedInstances: intOption({
    env: 'BERTH_SCHEDULER_MAX_REPORTED_INSTANCES',
    default: 10_000,
    min: 1,
    max: 100_000,
    unit: 'instances',
    help: 'Instances that one host report may list.',
  }),
  reportGrants: listOption({
    env: 'BERTH_SCHEDULER_REPORT_GRANTS',
    default: [],
    help: 'Hosts whose agents may report sharing providers (HOST), or also take over an existing provider without a host (HOST=UUID). Other agents may report neither aggregates nor MISC_SHARES_VIA_AGGREGATE.',
  }),
  keptDecisions: intOption({
    env: 'BERTH_SCHEDULER_KEPT_DECISIONS',
    default: 10_000,
    min: 0,
    max: 1_000_000,
    unit: 'decisions',
    help: 'Number of recent decisions that the store keeps with their basis (explain --instance), about 1 kB each; 0 keeps none. Failed decisions are all kept; of successful ones a scheduler keeps at most a sixtieth of this number each second, and a fifth in one burst.',
  }),
  recordFolder: stringOption({
    env: 'BERTH_SCHEDULER_RECORD_FOLDER',
    default: '',
    range: 'a folder',
    help: 'Folder that records each decision with its inputs, for berth explain --at and berth record; empty records none. Its files name projects, hosts and instances; only their owner may read them.',
  }),
  recordMaxMb: intOption({
    env: 'BERTH_SCHEDULER_RECORD_MAX_MB',
    default: 1_024,
    min: 8,
    max: 10_000_000,
    unit: 'MB',
    help: 'Size limit of the record; beyond it the oldest part is deleted. At least a copy of all rows is kept.',
  }),
  recordMaxAgeMs: durationOption({
    env: 'BERTH_SCHEDULER_RECORD_MAX_AGE_MS',
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    help: 'Age at which a part of the record is deleted.',
  }),
  ...usageOptions('BERTH_SCHEDULER'),
  prefetch: intOption({
    env: 'BERTH_SCHEDULER_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'calls',
    help: "Calls handled at once from each queue; agents' reports, which may be large, 64 at most. Concurrent claims are committed to the store together.",
  }),
} as const;

export type SchedulerConfig = ConfigOf<typeof schedulerOptions>;
