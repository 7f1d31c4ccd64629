import { freeShare } from './free-share';
import type { ShapeWeigher } from './weigher';

/**
 * ram: prefers hosts with a larger share of their memory free (MEMORY_MB), the instance counted as placed.
 *
 * `BERTH_SCHEDULER_WEIGHT_RAM`, 1 by default, spreads; a negative weight packs, so that whole hosts stay empty. Raw: the
 * free share of capacity, 0..1.
 */
export const ramWeigher: ShapeWeigher = {
  kind: 'shape',
  name: 'ram',
  prepare: (shape, facts) => freeShare('MEMORY_MB', shape, facts),
};
