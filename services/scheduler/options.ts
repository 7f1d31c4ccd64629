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
    help: 'How long a summary of the cell for the top of the fleet is good before it is made anew.',
  }),
  claimKey: claimKeyOption,
  claimTtlMs: claimTtlOption,
  allocationRequests: enumOption({
    env: 'BERTH_SCHEDULER_ALLOCATION_REQUESTS',
    default: 'sealed',
    values: ['sealed', 'reference'],
    help: 'How alternates carry what may be claimed: sealed in full, or by reference to the store, which keeps it for a while.',
  }),
  referenceTtlMs: durationOption({
    env: 'BERTH_SCHEDULER_REFERENCE_TTL_MS',
    default: 3_600_000,
    min: 1_000,
    max: 86_400_000,
    help: 'How long the store keeps what alternates refer to; later, destinations are selected again.',
  }),
  maxReferences: intOption({
    env: 'BERTH_SCHEDULER_MAX_REFERENCES',
    default: 200_000,
    min: 1_000,
    max: 10_000_000,
    unit: 'alternates',
    help: 'How many of them the store keeps at most, about 350 bytes each; beyond that, those that expire first go.',
  }),
  leaseMs: durationOption({
    env: 'BERTH_SCHEDULER_LEASE_MS',
    default: 900_000,
    min: 1_000,
    max: 86_400_000,
    help: 'How long alternates are leased, where a request wants that; a lease ends with the build, or after this time.',
  }),
  nominationMs: durationOption({
    env: 'BERTH_SCHEDULER_NOMINATION_MS',
    default: 600_000,
    min: 1_000,
    max: 3_600_000,
    help: 'How long the room that others make for an instance is kept from requests of its priority and lower ones.',
  }),
  filters: listOption({
    env: 'BERTH_SCHEDULER_FILTERS',
    default: FILTER_NAMES,
    values: FILTER_NAMES,
    help: 'The filters that a host must pass. Leaving one out turns off what it holds up; claims are checked in any case.',
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
    help: 'What hosts are chosen for: to be loaded evenly, to be filled one by one, or to keep room for what is asked for. It sets the weights, and the subset, that have no default of their own.',
  }),
  weightCpu: byProfile(weightOption('CPU', 1, 'Weight of the free share of VCPU; negative packs hosts full.')),
  weightRam: byProfile(weightOption('RAM', 1, 'Weight of the free share of MEMORY_MB; negative packs hosts full.')),
  weightDisk: byProfile(weightOption('DISK', 1, 'Weight of the free share of DISK_GB; negative packs hosts full.')),
  weightHeadroom: byProfile(
    weightOption('HEADROOM', 0, 'How much to prefer hosts that lose little room for what is asked for.'),
  ),
  weightIoOps: byProfile(
    weightOption('IO_OPS', -1, 'Weight of builds in progress on the host; negative avoids busy hosts.'),
  ),
  weightBuildFailures: weightOption('BUILD_FAILURES', 4, 'How much to avoid hosts on which builds failed lately.'),
  weightLeases: weightOption('LEASES', 4, 'How much to avoid room that is leased for alternates of others.'),
  weightPreferredTraits: weightOption('PREFERRED_TRAITS', 4, 'Weight of the preferred traits that the host has.'),
  weightPreferredResources: weightOption(
    'PREFERRED_RESOURCES',
    4,
    'Weight of the preferred amounts that the host has free.',
  ),
  weightSoftAffinity: weightOption(
    'SOFT_AFFINITY',
    8,
    'How much to prefer hosts with members of a soft-affinity group.',
  ),
  weightSoftAntiAffinity: weightOption(
    'SOFT_ANTI_AFFINITY',
    8,
    'How much to prefer hosts without members of a soft-anti-affinity group.',
  ),
  hostSubsetSize: byProfile(
    intOption({
      env: 'BERTH_SCHEDULER_HOST_SUBSET_SIZE',
      default: 3,
      min: 1,
      max: 1_000,
      unit: 'hosts',
      help: 'Of how many of the best hosts, if they weigh nearly the same, one is drawn, so that schedulers choose differently.',
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
    help: 'How long a claim counts as a build in progress unless its host reports a change before.',
  }),
  claimAttempts: intOption({
    env: 'BERTH_SCHEDULER_CLAIM_ATTEMPTS',
    default: 20,
    min: 1,
    max: 1_000,
    unit: 'decisions',
    help: 'How often a request is decided again when others took the hosts first; then the caller must ask again.',
  }),
  confirmTimeoutMs: durationOption({
    env: 'BERTH_SCHEDULER_CONFIRM_TIMEOUT_MS',
    default: 500,
    min: 20,
    max: 10_000,
    help: 'For how long a host is asked that is to confirm a selection (--confirm host); silence counts as a refusal.',
  }),
  confirmHosts: intOption({
    env: 'BERTH_SCHEDULER_CONFIRM_HOSTS',
    default: 5,
    min: 1,
    max: 100,
    unit: 'rounds',
    help: 'How often other hosts are asked for one request, when one refuses or is silent, before there is no valid host.',
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
    help: 'Hosts whose agent is silent for so long are marked down, until they report again.',
  }),
  failureHalfLifeMs: durationOption({
    env: 'BERTH_SCHEDULER_FAILURE_HALF_LIFE_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    help: 'The time in which half of a build failure is forgotten (build_failures weigher).',
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
    help: 'Projects whose builds failed on a host in a row, and ran elsewhere, after which it is left out and probed.',
  }),
  quarantineMaxPercent: intOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_MAX_PERCENT',
    default: 25,
    min: 0,
    max: 100,
    unit: '%',
    help: 'The share of all hosts that may be left out at once for their failures, one host at least; 0: none.',
  }),
  quarantinePauseMs: durationOption({
    env: 'BERTH_SCHEDULER_QUARANTINE_PAUSE_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: 'How long a host in quarantine gets nothing before it is probed with one build; each further failure doubles it.',
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
    help: 'How old a claim must be before its absence from a host report is sent to conductors.',
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
    help: "Hosts whose agents may report what others share in, HOST, or also take a provider that is there and no host's, HOST=UUID. An agent that is not named here may report neither aggregates nor MISC_SHARES_VIA_AGGREGATE.",
  }),
  keptDecisions: intOption({
    env: 'BERTH_SCHEDULER_KEPT_DECISIONS',
    default: 10_000,
    min: 0,
    max: 1_000_000,
    unit: 'decisions',
    help: 'How many of the last decisions the store keeps with their basis (explain --instance), about 1 kB each; 0 keeps none. Of decisions that found hosts a scheduler keeps a sixtieth of it each second, and a fifth of it in one burst; of others all.',
  }),
  recordFolder: stringOption({
    env: 'BERTH_SCHEDULER_RECORD_FOLDER',
    default: '',
    range: 'a folder',
    help: 'Where each decision is recorded with all that it follows from, for berth explain --at and berth record; empty records none. What is written names projects, hosts and instances, and is for its owner alone.',
  }),
  recordMaxMb: intOption({
    env: 'BERTH_SCHEDULER_RECORD_MAX_MB',
    default: 1_024,
    min: 8,
    max: 10_000_000,
    unit: 'MB',
    help: 'The size of the record: beyond it the oldest goes. At least a copy of all rows is kept.',
  }),
  recordMaxAgeMs: durationOption({
    env: 'BERTH_SCHEDULER_RECORD_MAX_AGE_MS',
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    help: 'The age at which a part of the record goes.',
  }),
  ...usageOptions('BERTH_SCHEDULER'),
  prefetch: intOption({
    env: 'BERTH_SCHEDULER_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'calls',
    help: 'Calls handled at once, of each queue; reports of agents, which may be large, 64 at most. Claims of calls that come together share a run of the store.',
  }),
} as const;

export type SchedulerConfig = ConfigOf<typeof schedulerOptions>;
