import type { HostState } from '../decision/host-state';
import type { HostFilter } from './filter';

/** The service of the host is enabled and up. */
export const computeFilter: HostFilter = {
  name: 'ComputeFilter',
  runsOnRebuild: false,
  prepare: () => (host) => {
    if (host.service === undefined) return 'its nova-compute is not known';
    if (host.service.isDisabled) return 'its nova-compute is disabled';
    return host.service.isUp ? undefined : 'its nova-compute is down';
  },
};

export const numInstancesFilter: HostFilter = instancesFilter('NumInstancesFilter', (_, most) => most);
export const aggregateNumInstancesFilter: HostFilter = instancesFilter('AggregateNumInstancesFilter', (host, most) =>
  limitOn(host, 'max_instances_per_host', most),
);
export const ioOpsFilter: HostFilter = operationsFilter('IoOpsFilter', (_, most) => most);
export const aggregateIoOpsFilter: HostFilter = operationsFilter('AggregateIoOpsFilter', (host, most) =>
  limitOn(host, 'max_io_ops_per_host', most),
);

/** The limit of a host, where the configuration has one for all. */
type LimitOf = (host: HostState, configured: number) => number;

function instancesFilter(name: string, limitOf: LimitOf): HostFilter {
  return {
    name,
    runsOnRebuild: false,
    prepare: ({ settings: { maxInstancesPerHost } }) => {
      return (host) => {
        const most = limitOf(host, maxInstancesPerHost);
        return host.instanceCount < most ? undefined : `it has ${most} instances or more`;
      };
    },
  };
}

function operationsFilter(name: string, limitOf: LimitOf): HostFilter {
  return {
    name,
    runsOnRebuild: false,
    prepare: ({ settings: { maxIoOpsPerHost } }) => {
      return (host) => {
        const most = limitOf(host, maxIoOpsPerHost);
        return host.ioOps < most ? undefined : `${most} instances or more are in the middle of an operation`;
      };
    },
  };
}

/** The least limit that a host's aggregates say; the configured one where none does, or one says no whole number. */
function limitOn({ aggregates }: HostState, key: string, configured: number): number {
  const said = aggregates.flatMap(({ metadata }) => metadata.get(key) ?? []);
  const limits = said.map((text) => (/^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : Number.NaN));
  return limits.length === 0 || limits.some(Number.isNaN) ? configured : Math.min(...limits);
}

/** Every host passes. */
export const allHostsFilter: HostFilter = { name: 'AllHostsFilter', runsOnRebuild: false, prepare: () => undefined };
