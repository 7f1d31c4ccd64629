import type { ClassFilter, Reason } from './filter';

/**
 * instance_limit: only hosts with fewer instances than `BERTH_SCHEDULER_MAX_INSTANCES_PER_HOST`; 0 means no limit.
 *
 * Counts all instances of the host, also those that Berth does not manage and those just claimed. Nova's
 * NumInstancesFilter. Reason: `too_many_instances`.
 */
export const instanceLimitFilter: ClassFilter = {
  kind: 'class',
  name: 'instance_limit',
  prepare({ batchSize }, { maxInstancesPerHost: limit }) {
    if (limit === 0) return [];
    return [
      {
        refuse: ({ instances }) => (instances + batchSize > limit ? FULL : undefined),
        describe: ({ instances }) => `the host has ${instances} instances, the limit is ${limit}`,
      },
    ];
  },
};

/**
 * build_limit: only hosts with fewer builds in progress than `BERTH_SCHEDULER_MAX_BUILDS_PER_HOST`; 0 means no limit.
 *
 * A build loads a host's disks and network more than the instance it makes. Counted are the builds that the host reports
 * and the claims it has not had time to report. Nova's IoOpsFilter. Reason: `too_many_builds`.
 */
export const buildLimitFilter: ClassFilter = {
  kind: 'class',
  name: 'build_limit',
  prepare({ batchSize }, { maxBuildsPerHost: limit }) {
    if (limit === 0) return [];
    return [
      {
        refuse: ({ buildsInProgress }) => (buildsInProgress + batchSize > limit ? BUSY : undefined),
        describe: ({ buildsInProgress }) =>
          `the host has ${buildsInProgress} builds in progress, the limit is ${limit}`,
      },
    ];
  },
};

const FULL: Reason = { symbol: 'too_many_instances', phrase: 'have as many instances as they may' };
const BUSY: Reason = { symbol: 'too_many_builds', phrase: 'have as many builds in progress as they may' };
