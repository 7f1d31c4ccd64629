import type { RequestGroup } from '../../domain/request-spec';
import type { Candidate, CandidateQuery } from '../../placement/search/query';

/** A group without conditions except the given fields. */
export function aGroup(
  suffix: string,
  resources: RequestGroup['resources'],
  fields: Partial<RequestGroup> = {},
): RequestGroup {
  return {
    suffix,
    resources,
    requiredTraits: [],
    forbiddenTraits: [],
    memberOf: [],
    forbiddenAggregates: [],
    inTree: undefined,
    ...fields,
  };
}

/** A query of these groups; `fields` override the defaults. */
export function aQuery(groups: readonly RequestGroup[], fields: Partial<CandidateQuery> = {}): CandidateQuery {
  return { groups, groupPolicy: 'none', sameSubtrees: [], rootRequiredTraits: [], rootForbiddenTraits: [], ...fields };
}

/** Candidates as sorted lines such as `cn1 VCPU:2 + ss1 DISK_GB:10`, for comparisons. */
export function linesOf(candidates: Iterable<Candidate>, nameOf: (uuid: string) => string): string[] {
  return [...candidates]
    .map(({ allocations }) =>
      Object.entries(allocations)
        .map(([uuid, resources]) => `${nameOf(uuid)} ${amountsOf(resources)}`)
        .sort()
        .join(' + '),
    )
    .sort();
}

function amountsOf(resources: Readonly<Record<string, number>>): string {
  return Object.entries(resources)
    .map(([resourceClass, amount]) => `${resourceClass}:${amount}`)
    .sort()
    .join(' ');
}
