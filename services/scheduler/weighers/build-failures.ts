import type { ClassWeigher } from './weigher';

/**
 * build_failures: avoids hosts on which builds failed lately.
 *
 * `BERTH_SCHEDULER_WEIGHT_BUILD_FAILURES`, 4 by default: more than the other weighers together, so that a host that just
 * failed is tried late, but is tried. Failures fade by half in `BERTH_SCHEDULER_FAILURE_HALF_LIFE_MS`. Raw: less than 0 by
 * what is left of the failures; four are as bad as it gets.
 */
export const buildFailuresWeigher: ClassWeigher = {
  kind: 'class',
  name: 'build_failures',
  prepare: () => ({ lower: -WORST_FAILURES, upper: 0, raw: (host) => -host.recentFailures }),
};

const WORST_FAILURES = 4;
