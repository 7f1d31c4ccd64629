import type { RequestFilter } from '../filter';

/**
 * nominated: not on a host where others make room for an instance of the same or a higher priority.
 *
 * Whoever is to have that room waits for those who leave; a request that is tried meanwhile would take it. For as long as
 * `BERTH_SCHEDULER_NOMINATION_MS` at most, and no longer than until the instance has a claim. kube-scheduler's
 * nominatedNodeName. Reason: `nominated`.
 */
export const nominatedFilter: RequestFilter = {
  kind: 'request',
  name: 'nominated',
  prepare({ nominatedHosts }) {
    if (nominatedHosts.size === 0) return undefined;
    const reason = { symbol: 'nominated', phrase: 'are where others make room for another instance' };
    return {
      kind: 'except',
      hosts: nominatedHosts,
      reason,
      describe: () => 'others make room there for another instance of the same or a higher priority',
    };
  },
};
