import type { HostState } from '../../fleet/host-state';
import type { ClassFilter, FilterSettings, Reason } from '../filter';

/**
 * instance_limit: only hosts with fewer instances than `BERTH_SCHEDULER_MAX_INSTANCES_PER_HOST`; 0 means no limit.
 *
 * Counts all instances of the host, also those that Berth does not manage and those just claimed. Nova's
 * NumInstancesFilter. Reason: `too_many_instances`.
 */
export const instanceLimitFilter = limitFilter('instance_limit', 'instances', 'maxInstancesPerHost', {
  symbol: 'too_many_instances',
  phrase: 'have as many instances as they may',
});

/**
 * build_limit: only hosts with fewer builds in progress than `BERTH_SCHEDULER_MAX_BUILDS_PER_HOST`; 0 means no limit.
 *
 * A build loads a host's disks and network more than the instance it makes. Counted are the builds that the host reports
 * and the claims it has not had time to report. Nova's IoOpsFilter. Reason: `too_many_builds`.
 */
export const buildLimitFilter = limitFilter('build_limit', 'buildsInProgress', 'maxBuildsPerHost', {
  symbol: 'too_many_builds',
  phrase: 'have as many builds in progress as they may',
});

function limitFilter(
  name: string,
  counted: 'instances' | 'buildsInProgress',
  setting: keyof FilterSettings & `max${string}`,
  reason: Reason,
): ClassFilter {
  const noun = counted === 'instances' ? 'instances' : 'builds in progress';
  return {
    kind: 'class',
    name,
    prepare({ batchSize }, settings) {
      const limit = settings[setting];
      if (limit === 0) return [];
      const refuse = (host: HostState) => (host[counted] + batchSize > limit ? reason : undefined);
      return [{ refuse, describe: (host) => `the host has ${host[counted]} ${noun}, the limit is ${limit}` }];
    },
  };
}
