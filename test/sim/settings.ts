/* Settings of the simulated fleet: seconds where real fleets have minutes, so that all deadlines pass in a short run. */
/** The metadata, and the taint, by which hosts of an aggregate take nobody. */
export const BAR = 'barred';

export const SCHEDULER = {
  BERTH_SCHEDULER_DECLARED_FILTERS: `open: !("${BAR}" in host.metadata)`,
  BERTH_SCHEDULER_HOST_TIMEOUT_MS: '10000',
  BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '3000',
  BERTH_SCHEDULER_CLAIM_SETTLE_MS: '500',
  BERTH_SCHEDULER_LEASE_MS: '5000',
  BERTH_SCHEDULER_NOMINATION_MS: '8000',
};

/** Of one of the two: its alternates refer to the store, which keeps that for less than a build may take. */
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

/** How long a host is held without another accepted report. */
export const LEASE_MS = 3 * Number(AGENT.BERTH_AGENT_REPORT_INTERVAL_MS);

/** Processes' clocks are the world's, less what the way to the store takes. */
export const CLOCK_TOLERANCE_MS = 1_500;

/** The ordinary hosts, and those that one process carries. */
export const HOSTS = ['h1', 'h2', 'rack-1', 'rack-2'] as const;

/** The process that carries a host. */
export function agentOf(host: string): string {
  return `agent-${host.split('-')[0]}`;
}

/** No operator has an aggregate of this uuid. */
export const LIE_AGGREGATE = '11e00000-0000-4000-8000-000000000000';

/** By its name, the uuid of each rack. */
export const RACKS = {
  r1: 'aaaaaaaa-0000-4000-8000-000000000001',
  r2: 'aaaaaaaa-0000-4000-8000-000000000002',
} as const;

/** The names of all racks. */
export const RACK_NAMES = Object.keys(RACKS) as readonly (keyof typeof RACKS)[];

/** The tenants. */
export const TENANTS = ['tenant-a', 'tenant-b'];

/** The name of all instances of a tenant: others are never told of it. */
export const nameOf = (who: string) => `an instance of ${who}`;
