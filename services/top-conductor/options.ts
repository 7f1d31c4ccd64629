import { topOptions } from '#libs/cells/options';
import { type ConfigOf, durationOption, intOption } from '#libs/runtime/config';

/** What an operator may set of a top conductor. */
export const topConductorOptions = {
  ...topOptions,
  prefetch: intOption({
    env: 'BERTH_TOP_CONDUCTOR_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'messages',
    help: 'Requests that one top conductor has in hand at once.',
  }),
  holdMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_HOLD_MS',
    default: 60_000,
    min: 100,
    max: 900_000,
    help: "How long a request is tried while the top's store is away, before it goes to the end of its queue.",
  }),
  numAlternates: intOption({
    env: 'BERTH_TOP_CONDUCTOR_ALTERNATES',
    default: 3,
    min: 0,
    max: 100,
    unit: 'hosts',
    help: 'Alternates asked for each instance, all of them in its cell, to be tried there when a host fails.',
  }),
  selectTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'How long a top scheduler may take to choose a cell, the calls to cells included.',
  }),
  schedulingTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SCHEDULING_TIMEOUT_MS',
    default: 60_000,
    min: 1_000,
    max: 86_400_000,
    help: 'How long a cell is looked for while some are unreachable, before the instance ends in ERROR with the reason.',
  }),
  syncIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS',
    default: 2_000,
    min: 50,
    max: 600_000,
    help: 'How often an instance on its way is looked after: given to a cell, or asked for there, should an event be lost.',
  }),
  resyncIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RESYNC_INTERVAL_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: 'How often all instances of each cell are compared with what the top knows, besides whenever the cell comes back.',
  }),
  moveTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_MOVE_TIMEOUT_MS',
    default: 600_000,
    min: 1_000,
    max: 86_400_000,
    help: 'How long an instance that is moved to another cell may take to be ACTIVE there before the move is undone.',
  }),
  reservationIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RESERVATION_INTERVAL_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    help: 'How often what projects have reserved at the top is compared with their instances; so long a reservation without one lasts.',
  }),
  retentionMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RETENTION_MS',
    default: 86_400_000,
    min: 60_000,
    max: 31_536_000_000,
    help: 'How long the top remembers instances that were deleted or ended in error.',
  }),
} as const;

export type TopConductorConfig = ConfigOf<typeof topConductorOptions>;
