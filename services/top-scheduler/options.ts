import { topOptions } from '#libs/cells/options';
import { usageOptions } from '#libs/fleet-settings/usage-options';
import { type ConfigOf, durationOption, intOption } from '#libs/runtime/config';

/** Settings of a top scheduler. */
export const topSchedulerOptions = {
  ...topOptions,
  summaryIntervalMs: durationOption({
    env: 'BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS',
    default: 1_000,
    min: 50,
    max: 60_000,
    help: 'Interval of asking each cell for a summary of its hosts.',
  }),
  askTimeoutMs: durationOption({
    env: 'BERTH_TOP_SCHEDULER_ASK_TIMEOUT_MS',
    default: 3_000,
    min: 50,
    max: 60_000,
    help: "Time limit of a cell's answer; then it counts as unreachable and the next one is asked.",
  }),
  maxAsked: intOption({
    env: 'BERTH_TOP_SCHEDULER_MAX_ASKED',
    default: 5,
    min: 1,
    max: 1_000,
    unit: 'cells',
    help: 'Cells that are asked for one request, best first, until one takes it.',
  }),
  refusalMs: durationOption({
    env: 'BERTH_TOP_SCHEDULER_REFUSAL_MS',
    default: 5_000,
    min: 0,
    max: 600_000,
    help: 'Time during which a cell that refused a request is asked after the others for similar ones.',
  }),
  ...usageOptions('BERTH_TOP_SCHEDULER'),
  prefetch: intOption({
    env: 'BERTH_TOP_SCHEDULER_PREFETCH',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'requests',
    help: 'Limit of the requests that one top scheduler handles at once.',
  }),
} as const;

export type TopSchedulerConfig = ConfigOf<typeof topSchedulerOptions>;
