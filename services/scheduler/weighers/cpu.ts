import { freeShare } from './free-share';
import type { ShapeWeigher } from './weigher';

/**
 * cpu: prefers hosts with a larger share of their virtual CPUs free (VCPU), the instance counted as placed.
 *
 * `BERTH_SCHEDULER_WEIGHT_CPU`, 1 by default, spreads; a negative weight packs, so that whole hosts stay empty. Raw: the
 * free share of capacity, 0..1.
 */
export const cpuWeigher: ShapeWeigher = {
  kind: 'shape',
  name: 'cpu',
  prepare: (shape, facts) => freeShare('VCPU', shape, facts),
};
