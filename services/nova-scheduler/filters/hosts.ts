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

export const numInstancesFilter: HostFilter = {
  name: 'NumInstancesFilter',
  runsOnRebuild: false,
  prepare: ({ settings: { maxInstancesPerHost: most } }) => {
    return (host) => (host.instanceCount < most ? undefined : `it has ${most} instances or more`);
  },
};

export const ioOpsFilter: HostFilter = {
  name: 'IoOpsFilter',
  runsOnRebuild: false,
  prepare: ({ settings: { maxIoOpsPerHost: most } }) => {
    return (host) => (host.ioOps < most ? undefined : `${most} instances or more are in the middle of an operation`);
  },
};

/** Every host passes. */
export const allHostsFilter: HostFilter = { name: 'AllHostsFilter', runsOnRebuild: false, prepare: () => undefined };
