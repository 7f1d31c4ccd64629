import { topOptions } from '#libs/cells/options';
import { MAX_RECORDS_OF_PROJECT } from '#libs/instances/store';
import { type ConfigOf, durationOption, intOption } from '#libs/runtime/config';

/** Settings of a top conductor. */
export const topConductorOptions = {
  ...topOptions,
  prefetch: intOption({
    env: 'BERTH_TOP_CONDUCTOR_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'messages',
    help: 'Limit of the requests that one top conductor handles at once.',
  }),
  holdMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_HOLD_MS',
    default: 60_000,
    min: 100,
    max: 900_000,
    help: "Time for which a request is retried while the top's store is away; then it goes to the end of its queue.",
  }),
  numAlternates: intOption({
    env: 'BERTH_TOP_CONDUCTOR_ALTERNATES',
    default: 3,
    min: 0,
    max: 100,
    unit: 'hosts',
    help: 'Alternates per instance, all in its cell, to try there when a host fails.',
  }),
  selectTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of choosing a cell by a top scheduler, the calls to cells included.',
  }),
  schedulingTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SCHEDULING_TIMEOUT_MS',
    default: 60_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Time limit of finding a cell while some are unreachable; then the instance ends in ERROR with the reason.',
  }),
  syncIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS',
    default: 2_000,
    min: 50,
    max: 600_000,
    help: 'Interval of handling an instance in progress: assigning it to a cell, or asking the cell in case an event was lost.',
  }),
  resyncIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RESYNC_INTERVAL_MS',
    default: 60_000,
    min: 100,
    max: 86_400_000,
    help: "Interval of comparing all instances of each cell with the top's records; also done whenever the cell comes back.",
  }),
  moveTimeoutMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_MOVE_TIMEOUT_MS',
    default: 600_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Time limit of a move to another cell until the instance is ACTIVE there; then the move is undone.',
  }),
  reservationIntervalMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RESERVATION_INTERVAL_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    help: 'Interval of comparing reservations at the top with instances; a reservation without an instance lasts as long.',
  }),
  maxRecords: intOption({
    env: 'BERTH_TOP_CONDUCTOR_MAX_RECORDS',
    default: 5 * MAX_RECORDS_OF_PROJECT,
    min: 1_000,
    max: 10_000_000,
    unit: 'instances',
    help: 'Instances of a project on record, ended ones too until they are forgotten; one request more is refused (too_many_records).',
  }),
  retentionMs: durationOption({
    env: 'BERTH_TOP_CONDUCTOR_RETENTION_MS',
    default: 86_400_000,
    min: 60_000,
    max: 31_536_000_000,
    help: 'Time for which the top keeps records of deleted and failed instances.',
  }),
} as const;

export type TopConductorConfig = ConfigOf<typeof topConductorOptions>;
