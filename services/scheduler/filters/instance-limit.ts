import type { Reason, ShapeFilter } from './filter';

/**
 * instance_limit: only hosts with fewer instances than `BERTH_SCHEDULER_MAX_INSTANCES_PER_HOST`; 0 means no limit.
 *
 * Counts all instances of the host, also those that Berth does not manage and those just claimed.
 * Reason: `too_many_instances`.
 */
export const instanceLimitFilter: ShapeFilter = {
  kind: 'shape',
  name: 'instance_limit',
  prepare({ together }, _facts, { maxInstancesPerHost: limit }) {
    if (limit === 0) return [];
    return [
      {
        refuse: ({ instances }) => (instances + together > limit ? FULL : undefined),
        describe: ({ instances }) => `the host has ${instances} instances, the limit is ${limit}`,
      },
    ];
  },
};

const FULL: Reason = { symbol: 'too_many_instances', phrase: 'have as many instances as they may' };
