import type { ClassWeigher } from './weigher';

/**
 * num_instances: prefers hosts with more instances (Nova's NumInstancesWeigher).
 *
 * `BERTH_SCHEDULER_WEIGHT_NUM_INSTANCES`, 0 by default: negative spreads by number, whatever the size. Raw: instances on the host and
 * claimed for it, those that Berth does not manage included; a hundred or more are alike.
 */
export const numInstancesWeigher: ClassWeigher = {
  kind: 'class',
  name: 'num_instances',
  prepare: () => ({ lower: 0, upper: MANY_INSTANCES, raw: (host) => host.instances }),
};

const MANY_INSTANCES = 100;
