import type { RequestSpec } from '../domain/request-spec';

/** A request for one VCPU and 1 GiB and nothing else, with what the test cares about. */
export function aRequestSpec(fields: Partial<RequestSpec> = {}): RequestSpec {
  return {
    projectId: 'project-1',
    userId: 'user-1',
    resources: { VCPU: 1, MEMORY_MB: 1_024 },
    requiredTraits: [],
    forbiddenTraits: [],
    preferredTraits: [],
    preferredResources: {},
    availabilityZone: undefined,
    memberOf: [],
    forbiddenAggregates: [],
    extraSpecs: {},
    imageProperties: {},
    sameHost: [],
    differentHost: [],
    group: undefined,
    forceHosts: [],
    ignoreHosts: [],
    requestGroups: [],
    groupPolicy: 'none',
    ...fields,
  };
}
