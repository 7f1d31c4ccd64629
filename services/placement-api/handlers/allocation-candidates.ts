import type { Resources } from '#libs/domain/inventory';
import type { RequestGroup } from '#libs/domain/request-spec';
import { rootsOf, summariesOf } from '#libs/placement/search/candidate';
import type { Candidate } from '#libs/placement/search/query';
import { candidateQuery } from '../candidate-query';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { namesText, providerSummary } from '../provider-summaries';
import { knowsNamesOf } from '../unknown-names';

/** GET /allocation_candidates */
export async function listCandidates({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = candidateQuery(query, version, placement.config.maxRequestGroups);
  const view = await placement.now();
  // The schema validates the last value only, Placement reads the first.
  const limit = Number(query.all('limit')[0]) || undefined;
  const nestedAware = version >= SINCE.nestedCandidates;
  const isMet = (group: RequestGroup) =>
    placement.candidates({ ...asked, groups: [group], sameSubtrees: [] }, { limit: 1 }).length > 0;
  const found = knowsNamesOf(view, asked, isMet)
    ? placement.candidates(asked, { nestedAware, ...(limit === undefined ? {} : { limit }) })
    : [];
  const classes = new Set(asked.groups.flatMap(({ resources }) => Object.keys(resources)));
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  const summaries =
    shown === undefined && nestedAware
      ? rootsOf(view, found).map((root) => placement.summariesOfTree(root))
      : summariesOf(view, found, nestedAware).map((provider) => providerSummary(view, provider, shown, version));
  return { status: 200, json: candidatesText(found, summaries, version), lastModifiedMs: 'now' };
}

/**
 * The answer to GET /allocation_candidates as JSON text. The plain way, an object and `JSON.stringify`, takes five
 * times as long for a thousand candidates: their parts have uuids as keys, so that the engine makes a hidden class for
 * each. Uuids, classes and traits have no characters that JSON escapes.
 */
function candidatesText(found: readonly Candidate[], summaries: readonly string[], version: Microversion): string {
  const requestText = version < SINCE.allocationsByProvider ? listedRequest() : keyedRequest(version);
  return `{"allocation_requests":[${found.map(requestText).join()}],"provider_summaries":{${summaries.join()}}}`;
}

/** Of candidates that are found again (`KeptCandidates`), with mappings. */
const cached = new WeakMap<Candidate, string>();

/** What a client may send to PUT /allocations/{consumer_uuid} as it is. */
function keyedRequest(version: Microversion): (candidate: Candidate) => string {
  const hasMappings = version >= SINCE.mappings;
  const amounts = amountsText();
  const textOf = ({ allocations, mappings }: Candidate) => {
    const parts: string[] = [];
    for (const uuid in allocations) parts.push(`"${uuid}":{"resources":${amounts(allocations[uuid])}}`);
    const mapped = hasMappings ? `,"mappings":{${mappedText(mappings)}}` : '';
    return `{"allocations":{${parts.join()}}${mapped}}`;
  };
  if (!hasMappings) return textOf;
  return (candidate) => {
    const known = cached.get(candidate);
    if (known !== undefined) return known;
    const text = textOf(candidate);
    cached.set(candidate, text);
    return text;
  };
}

/** The form before microversion 1.12. */
function listedRequest(): (candidate: Candidate) => string {
  const amounts = amountsText();
  return ({ allocations }) => {
    const parts: string[] = [];
    for (const uuid in allocations) {
      parts.push(`{"resource_provider":{"uuid":"${uuid}"},"resources":${amounts(allocations[uuid])}}`);
    }
    return `{"allocations":[${parts.join()}]}`;
  };
}

/** Most candidates of an answer share one object of amounts: its text is kept. */
function amountsText(): (resources: Resources | undefined) => string {
  let last: Resources | undefined;
  let text = '{}';
  return (resources) => {
    if (resources !== last) text = JSON.stringify(resources);
    last = resources;
    return text;
  };
}

function mappedText(mappings: Candidate['mappings']): string {
  return Object.entries(mappings)
    .map(([suffix, uuids]) => `"${suffix}":${namesText(uuids)}`)
    .join();
}
