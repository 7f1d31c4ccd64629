import { HttpError } from './http-error';

/** The minor number of a microversion: 12 is 1.12. The major has been 1 since the beginning. */
export type Microversion = number;

export const NEWEST: Microversion = 39;

/** What each microversion brought, where it is more than a new route or a new schema. */
export const SINCE = {
  aggregateLinks: 1,
  traitLinks: 6,
  consumerOwner: 8,
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

/**
 * The microversion that a header asks for, the oldest when it asks for none: `placement 1.10`, `placement latest`, among
 * others by comma (the last one for `placement` counts).
 *
 * @throws HttpError 400 when it is no version, 406 when Berth does not have it.
 */
export function requestedVersion(header: string | undefined): Microversion {
  const text = askedFor(header);
  if (text === undefined) return 0;
  if (text === 'latest') return NEWEST;
  const parts = /^(-?\d+)\s*\.\s*(-?\d+)$/.exec(text);
  if (!parts) throw new HttpError(400, `Invalid microversion: invalid version string: ${text}`);
  const [major, minor] = [Number(parts[1]), Number(parts[2])];
  if (major !== 1 || minor < 0 || minor > NEWEST) {
    throw new HttpError(406, `Invalid microversion: Unacceptable version header: ${text}`);
  }
  return minor;
}

function askedFor(header: string | undefined): string | undefined {
  const asked = (header ?? '').split(',').map((part) => /^\s*placement\s+(\S.*)$/i.exec(part)?.[1]?.trim());
  return asked.findLast((version) => version !== undefined);
}
