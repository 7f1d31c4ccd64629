/** The minor number of a microversion: 12 is 1.12. The major number is always 1. */
export type Microversion = number;

export const NEWEST: Microversion = 39;

/** The microversions that changed more than a route or a schema. */
export const SINCE = {
  aggregateLinks: 1,
  traitLinks: 6,
  allocationLinks: 11,
  allocationsByProvider: 12,
  trees: 14,
  cacheHeaders: 15,
  traitsInSummaries: 17,
  aggregateGeneration: 19,
  createdProviderInBody: 20,
  forbiddenTraits: 22,
  errorCodes: 23,
  repeatedMemberOf: 24,
  reservedMayBeTotal: 26,
  allClassesInSummaries: 27,
  consumerGeneration: 28,
  nestedCandidates: 29,
  forbiddenAggregates: 32,
  namedGroups: 33,
  mappings: 34,
  groupsWithoutResources: 36,
  reparenting: 37,
  consumerType: 38,
  anyOfTraits: 39,
} as const satisfies Record<string, Microversion>;

export const VERSION_RANGE = { max_version: `1.${NEWEST}`, min_version: '1.0' } as const;
export const VERSION_HEADER = 'openstack-api-version';
