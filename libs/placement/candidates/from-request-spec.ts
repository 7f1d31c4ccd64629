import type { RequestSpec } from '../../domain/request-spec';
import type { CandidateQuery } from './query';

/** What a request spec needs of providers. Preferences, host names and all that filters look at are not in it. */
export function queryFromRequestSpec(spec: Asked): CandidateQuery {
  const ownGroup = {
    suffix: '',
    resources: spec.resources,
    requiredTraits: spec.requiredTraits.map((trait) => [trait]),
    forbiddenTraits: spec.forbiddenTraits,
    memberOf: spec.memberOf,
    forbiddenAggregates: spec.forbiddenAggregates,
    inTree: undefined,
  };
  return {
    groups: [ownGroup, ...spec.requestGroups],
    groupPolicy: spec.groupPolicy,
    sameSubtrees: spec.sameSubtrees,
    rootRequiredTraits: spec.rootRequiredTraits,
    rootForbiddenTraits: spec.rootForbiddenTraits,
  };
}

/** The part of a request spec that is for providers to meet. */
type Asked = Pick<
  RequestSpec,
  | 'resources'
  | 'requiredTraits'
  | 'forbiddenTraits'
  | 'memberOf'
  | 'forbiddenAggregates'
  | 'requestGroups'
  | 'groupPolicy'
  | 'sameSubtrees'
  | 'rootRequiredTraits'
  | 'rootForbiddenTraits'
>;
