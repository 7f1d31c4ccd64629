import type { Reason, ShapeFilter } from './filter';

/**
 * build_limit: only hosts with fewer builds in progress than `BERTH_SCHEDULER_MAX_BUILDS_PER_HOST`; 0 means no limit.
 *
 * A build loads a host's disks and network more than the instance it makes. Counted are the builds that the host reports
 * and the claims it has not had time to report. Nova's io_ops filter. Reason: `too_many_builds`.
 */
export const buildLimitFilter: ShapeFilter = {
  kind: 'shape',
  name: 'build_limit',
  prepare({ together }, _facts, { maxBuildsPerHost: limit }) {
    if (limit === 0) return [];
    return [
      {
        refuse: ({ buildsInProgress }) => (buildsInProgress + together > limit ? BUSY : undefined),
        describe: ({ buildsInProgress }) =>
          `the host has ${buildsInProgress} builds in progress, the limit is ${limit}`,
      },
    ];
  },
};

const BUSY: Reason = { symbol: 'too_many_builds', phrase: 'have as many builds in progress as they may' };
