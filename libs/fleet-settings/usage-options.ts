import { durationOption, intOption } from '../runtime/config';

/** Options of schedulers for projects' usage; `prefix` is that of a service: `BERTH_SCHEDULER`. */
export function usageOptions(prefix: string) {
  return {
    usageDays: intOption({
      env: `${prefix}_USAGE_DAYS`,
      default: 400,
      min: 1,
      max: 3_660,
      unit: 'days',
      help: "Days for which the projects' daily usage is kept (usage --since).",
    }),
    usageRecords: intOption({
      env: `${prefix}_USAGE_RECORDS`,
      default: 500,
      min: 0,
      max: 3_000,
      unit: 'records',
      help: 'Ended allocations per project whose usage is kept by instance; older ones are summed up by user and flavor.',
    }),
    usageIntervalMs: durationOption({
      env: `${prefix}_USAGE_INTERVAL_MS`,
      default: 60_000,
      min: 100,
      max: 3_600_000,
      help: "Interval of accounting the projects' usage, and of comparing it with their consumers.",
    }),
  } as const;
}
