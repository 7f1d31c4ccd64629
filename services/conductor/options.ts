import { type ConfigOf, durationOption, intOption } from '#libs/runtime/config';

/** What an operator may set of a conductor. */
export const conductorOptions = {
  prefetch: intOption({
    env: 'BERTH_CONDUCTOR_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'messages',
    help: 'Build requests, and reports, that one conductor has in hand at once.',
  }),
  holdMs: durationOption({
    env: 'BERTH_CONDUCTOR_HOLD_MS',
    default: 60_000,
    min: 100,
    max: 900_000,
    help: 'How long a message is tried while the store or a scheduler is away, before it goes to the end of its queue.',
  }),
  numAlternates: intOption({
    env: 'BERTH_CONDUCTOR_ALTERNATES',
    default: 3,
    min: 0,
    max: 100,
    unit: 'hosts',
    help: 'Alternates asked for each instance, to be tried when a host fails.',
  }),
  maxAttempts: intOption({
    env: 'BERTH_CONDUCTOR_MAX_ATTEMPTS',
    default: 4,
    min: 1,
    max: 128,
    unit: 'hosts',
    help: 'Hosts on which one instance is tried before it ends in ERROR.',
  }),
  selectTimeoutMs: durationOption({
    env: 'BERTH_CONDUCTOR_SELECT_TIMEOUT_MS',
    default: 5_000,
    min: 10,
    max: 600_000,
    help: 'How long a scheduler may take before it is asked again.',
  }),
  buildTimeoutMs: durationOption({
    env: 'BERTH_CONDUCTOR_BUILD_TIMEOUT_MS',
    default: 600_000,
    min: 100,
    max: 86_400_000,
    help: 'How long an agent may take to build before the next alternate is tried.',
  }),
  schedulingTimeoutMs: durationOption({
    env: 'BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: 'How long an instance may wait for its destination before another conductor looks at it, too.',
  }),
  destroyTimeoutMs: durationOption({
    env: 'BERTH_CONDUCTOR_DESTROY_TIMEOUT_MS',
    default: 300_000,
    min: 100,
    max: 86_400_000,
    help: 'How long a host may take to destroy an instance before its claim is given back without its word.',
  }),
  dueIntervalMs: durationOption({
    env: 'BERTH_CONDUCTOR_DUE_INTERVAL_MS',
    default: 1_000,
    min: 10,
    max: 3_600_000,
    help: 'How often a conductor looks for instances whose deadline has passed.',
  }),
  eventGraceMs: durationOption({
    env: 'BERTH_CONDUCTOR_EVENT_GRACE_MS',
    default: 3_000,
    min: 10,
    max: 3_600_000,
    help: 'How long the conductor that wrote a record has to publish its event before another does.',
  }),
  auditIntervalMs: durationOption({
    env: 'BERTH_CONDUCTOR_AUDIT_INTERVAL_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: 'How often one of the conductors compares claims with instances.',
  }),
  auditGraceMs: durationOption({
    env: 'BERTH_CONDUCTOR_AUDIT_GRACE_MS',
    default: 60_000,
    min: 0,
    max: 86_400_000,
    help: 'The audit leaves alone what was written more recently than this.',
  }),
  retentionMs: durationOption({
    env: 'BERTH_CONDUCTOR_RETENTION_MS',
    default: 3_600_000,
    min: 0,
    max: 31_536_000_000,
    help: 'How long instances stay on record after they were deleted or ended in error.',
  }),
  failureHalfLifeMs: durationOption({
    env: 'BERTH_CONDUCTOR_FAILURE_HALF_LIFE_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    help: 'In this time half of the build failures held against a host are forgotten.',
  }),
} as const;

export type ConductorConfig = ConfigOf<typeof conductorOptions>;
