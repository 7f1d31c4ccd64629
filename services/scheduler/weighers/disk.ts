import { freeShare } from './free-share';
import type { ShapeWeigher } from './weigher';

/**
 * disk: prefers hosts with a larger share of their disk free (DISK_GB), the instance counted as placed.
 *
 * `BERTH_SCHEDULER_WEIGHT_DISK`, 1 by default, spreads; a negative weight packs, so that whole hosts stay empty. Raw: the
 * free share of capacity, 0..1.
 */
export const diskWeigher: ShapeWeigher = {
  kind: 'shape',
  name: 'disk',
  prepare: (shape, facts) => freeShare('DISK_GB', shape, facts),
};
