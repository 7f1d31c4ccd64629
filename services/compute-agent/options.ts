import { hostname } from 'node:os';
import { MAX_LEASE_MS } from '#libs/contracts/limits';
import { agentSender } from '#libs/contracts/queues';
import { type ConfigOf, durationOption, enumOption, intOption, numberOption, stringOption } from '#libs/runtime/config';
import { addressOptions } from '#libs/runtime/options';
import { baremetalOptions } from './drivers/baremetal/baremetal-options';
import { dockerDriverOptions } from './drivers/docker/docker-options';
import { fakeOptions } from './drivers/fake-options';
import { processDriverOptions } from './drivers/process/process-options';

/** Settings of a compute agent. Entries for several kinds of hosts (separated by `|`) apply to hosts round-robin. */
export const agentOptions = {
  host: stringOption({
    env: 'BERTH_AGENT_HOST',
    default: hostname(),
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    range: 'a host name of at most 100 characters',
    help: 'The name of the service host, whose queue receives the orders: the host itself, or with several hosts the prefix of their names (host-001, host-002, ...).',
  }),
  hosts: intOption({
    env: 'BERTH_AGENT_HOSTS',
    default: 1,
    min: 1,
    max: 20_000,
    unit: 'hosts',
    help: 'Number of hosts of this process; more than one only with the fake driver.',
  }),
  cell: addressOptions.cell,
  driver: enumOption({
    env: 'BERTH_AGENT_DRIVER',
    default: 'fake',
    values: ['fake', 'process', 'docker', 'baremetal'],
    help: 'The kind of instances: entries of a map (fake, for demos and load), processes of this machine, containers of its Docker engine, or the nodes of a pool (baremetal).',
  }),
  inventory: stringOption({
    env: 'BERTH_AGENT_INVENTORY',
    default: '',
    range: 'CLASS=total[-reserved][*ratio],... | ...',
    help: "The host's inventories, as VCPU=64*4,MEMORY_MB=262144-4096; empty means a fake host of 64 VCPU, 256 GiB and 4,000 GiB of disk, or this machine's own resources.",
  }),
  traits: stringOption({
    env: 'BERTH_AGENT_TRAITS',
    default: '',
    range: 'TRAIT,... | ...',
    help: 'Traits of the host.',
  }),
  providers: stringOption({
    env: 'BERTH_AGENT_PROVIDERS',
    default: '',
    range: '[PARENT/]NAME CLASS=total,TRAIT,...; ... | ...',
    help: "Providers below the host's root, as 'numa0 VCPU=16,MEMORY_MB=65536; numa0/gpu0 VGPU=8'. With the process and docker drivers, machine takes the NUMA nodes, GPUs and network cards that they find.",
  }),
  devices: stringOption({
    env: 'BERTH_AGENT_DEVICES',
    default: '',
    range: '[PARENT/]NAME ATTRIBUTE=value class:CUSTOM_GPU capacity:NAME=80Gi taint:KEY=value ...; ... | ...',
    help: "Devices below the host's root or its providers, as 'gpu0 model=H100 numa=0 capacity:memory=80Gi; card/part0 consumes:CUSTOM_SLICE=2', for requests by attributes.",
  }),
  capabilities: stringOption({
    env: 'BERTH_AGENT_CAPABILITIES',
    default: 'hw_architecture=x86_64',
    range: 'name=value/value,...',
    help: 'Image properties that the host supports, as hw_architecture=x86_64/i686,img_hv_type=kvm.',
  }),
  stateDir: stringOption({
    env: 'BERTH_AGENT_STATE_DIR',
    default: '',
    range: 'a folder',
    help: "Folder of the agent's journal of its instances, which finds them after a restart; empty keeps none.",
  }),
  maxBuilds: intOption({
    env: 'BERTH_AGENT_MAX_BUILDS',
    default: 10,
    min: 1,
    max: 1_000,
    unit: 'builds',
    help: 'Limit of concurrent builds on a host; further ones are queued.',
  }),
  prefetch: intOption({
    env: 'BERTH_AGENT_PREFETCH',
    default: 40,
    min: 1,
    max: 10_000,
    unit: 'messages',
    help: 'Limit of unacked orders per host of the process; above max builds, so that a destroy overtakes waiting builds.',
  }),
  holdMs: durationOption({
    env: 'BERTH_AGENT_HOLD_MS',
    default: 60_000,
    min: 100,
    max: 900_000,
    help: "Time for which an order is held while its work goes on, before it goes to the end of its queue; well below RabbitMQ's consumer_timeout.",
  }),
  reportIntervalMs: durationOption({
    env: 'BERTH_AGENT_REPORT_INTERVAL_MS',
    default: 20_000,
    min: 100,
    max: 3_600_000,
    help: "Interval of a host's reports without changes; after a few of these without a report schedulers mark it down.",
  }),
  reportJitter: numberOption({
    env: 'BERTH_AGENT_REPORT_JITTER',
    default: 0.1,
    min: 0,
    max: 0.5,
    help: 'Random share of the interval by which reports come earlier or later, so that hosts do not report all at once.',
  }),
  reportMinIntervalMs: durationOption({
    env: 'BERTH_AGENT_REPORT_MIN_INTERVAL_MS',
    default: 5_000,
    min: 0,
    max: 600_000,
    help: "Minimum interval of a host's reports; changes within it share the next one.",
  }),
  lookIntervalMs: durationOption({
    env: 'BERTH_AGENT_LOOK_INTERVAL_MS',
    default: 2_000,
    min: 200,
    max: 3_600_000,
    help: "Interval of reading a host's workloads that Berth does not manage; a change is reported early.",
  }),
  leaseReports: intOption({
    env: 'BERTH_AGENT_LEASE_REPORTS',
    default: 3,
    min: 2,
    max: 1_000,
    unit: 'report intervals',
    help: "Length of this process's lease of its hosts, in report intervals without an accepted report; another process of the same name waits for its end.",
  }),
  reportTimeoutMs: durationOption({
    env: 'BERTH_AGENT_REPORT_TIMEOUT_MS',
    default: 5_000,
    min: 10,
    max: 600_000,
    help: 'Time limit of the answer to a report; then it is sent again.',
  }),
  reportsInFlight: intOption({
    env: 'BERTH_AGENT_REPORTS_IN_FLIGHT',
    default: 64,
    min: 1,
    max: 10_000,
    unit: 'reports',
    help: 'Limit of the reports in flight, over all hosts of the process.',
  }),
  retryMaxMs: durationOption({
    env: 'BERTH_AGENT_RETRY_MAX_MS',
    default: 5_000,
    min: 10,
    max: 600_000,
    help: 'The longest pause before a retry (broker unavailable, destroy failed).',
  }),
  drainTimeoutMs: durationOption({
    env: 'BERTH_AGENT_DRAIN_TIMEOUT_MS',
    default: 10_000,
    min: 0,
    max: 600_000,
    help: 'Time limit of running builds when an agent drains; then they return to its queue.',
  }),
  ...fakeOptions,
  ...processDriverOptions,
  ...dockerDriverOptions,
  ...baremetalOptions,
} as const;

export type AgentConfig = ConfigOf<typeof agentOptions>;

/** Length of a host's lease without an accepted report. */
export function leaseMsOf({ leaseReports, reportIntervalMs }: AgentConfig): number {
  return Math.min(MAX_LEASE_MS, leaseReports * reportIntervalMs);
}

/** Options of calls in the agent's own name, as opposed to one of its hosts. */
export function callOptions({ reportTimeoutMs, host }: AgentConfig) {
  return { timeoutMs: reportTimeoutMs, sender: agentSender(host) };
}
