/* Settings of the simulated fleet: seconds where real fleets have minutes, so that all deadlines pass in a short run. */
/** The metadata key, and the taint, of aggregates whose hosts take no instances. */
export const BAR = 'barred';

export const SCHEDULER = {
  BERTH_SCHEDULER_DECLARED_FILTERS: `open: !("${BAR}" in host.metadata)`,
  BERTH_SCHEDULER_HOST_TIMEOUT_MS: '10000',
  BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '3000',
  BERTH_SCHEDULER_CLAIM_SETTLE_MS: '500',
  BERTH_SCHEDULER_LEASE_MS: '5000',
  BERTH_SCHEDULER_NOMINATION_MS: '8000',
  BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS: '4000',
  BERTH_SCHEDULER_BACKFILL_MARGIN_MS: '2000',
};

/** Settings of one of two schedulers: its alternates refer to the store, which forgets them sooner than a build may end. */
export const REFERRING = {
  BERTH_SCHEDULER_ALLOCATION_REQUESTS: 'reference',
  BERTH_SCHEDULER_REFERENCE_TTL_MS: '2000',
};

export const CONDUCTOR = {
  BERTH_CONDUCTOR_SELECT_TIMEOUT_MS: '1000',
  BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '4000',
  BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '3000',
  BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS: '4000',
  BERTH_CONDUCTOR_POWER_TIMEOUT_MS: '4000',
  BERTH_CONDUCTOR_MOVE_TURN_TIMEOUT_MS: '8000',
  BERTH_CONDUCTOR_DUE_INTERVAL_MS: '2000',
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '4000',
  BERTH_CONDUCTOR_AUDIT_GRACE_MS: '3000',
  BERTH_CONDUCTOR_RETENTION_MS: '15000',
  BERTH_CONDUCTOR_DOUBT_MS: '10000',
  BERTH_CONDUCTOR_PENDING_RETRY_MS: '5000',
  BERTH_CONDUCTOR_MAX_PRIORITY: '10',
  BERTH_CONDUCTOR_REBUILD_AFTER_MS: '3000',
  BERTH_CONDUCTOR_REBUILD_PARALLEL: '3',
};

export const AGENT = {
  BERTH_AGENT_REPORT_INTERVAL_MS: '4000',
  BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '500',
  BERTH_AGENT_REPORT_TIMEOUT_MS: '1000',
  BERTH_AGENT_RETRY_MAX_MS: '1000',
  BERTH_AGENT_DRAIN_TIMEOUT_MS: '1000',
};

/** The time that a host is held without another accepted report. */
export const LEASE_MS = 3 * Number(AGENT.BERTH_AGENT_REPORT_INTERVAL_MS);

/** Difference of the processes' clocks to the world's: the way to the store. */
export const CLOCK_TOLERANCE_MS = 1_500;

/** The ordinary hosts, and those that one process carries. */
export const HOSTS = ['h1', 'h2', 'rack-1', 'rack-2'] as const;

/** The process that carries a host. */
export function agentOf(host: string): string {
  return `agent-${host.split('-')[0]}`;
}

/** The uuid of no operator's aggregate. */
export const LIE_AGGREGATE = '11e00000-0000-4000-8000-000000000000';

/** The uuid of each rack, by name. */
export const RACKS = {
  r1: 'aaaaaaaa-0000-4000-8000-000000000001',
  r2: 'aaaaaaaa-0000-4000-8000-000000000002',
} as const;

export const RACK_NAMES = Object.keys(RACKS) as readonly (keyof typeof RACKS)[];

/** The rack of a host: every other one is in the first. Undefined for a host of no rack. */
export function rackOf(host: string): (typeof RACK_NAMES)[number] | undefined {
  const n = HOSTS.findIndex((name) => name === host);
  return n < 0 ? undefined : RACK_NAMES[n % RACK_NAMES.length];
}

export const TENANTS = ['tenant-a', 'tenant-b'];

/** The name of all instances of a tenant; other tenants must never see it. */
export const nameOf = (who: string) => `an instance of ${who}`;
