import type { Resources } from '#libs/domain/inventory';
import type { RequestGroup } from '#libs/domain/request-spec';
import { rootsOf } from '#libs/placement/search/candidate';
import type { Candidate, CandidateQuery } from '#libs/placement/search/query';
import { candidateQuery } from '../candidate-query';
import { badRequest, ERROR_CODE, type HttpError } from '../http/http-error';
import { type Microversion, NEWEST, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { namesText, providerSummary } from '../provider-summaries';
import { knowsNamesOf } from '../unknown-names';

/** GET /allocation_candidates */
export async function listCandidates(request: ApiRequest, placement: Placement): Promise<Answer> {
  const { query, version, wantsIds, principal } = request;
  const { maxRequestGroups, maxCandidatesBytes } = placement.config;
  const asked = candidateQuery(query, version, maxRequestGroups);
  const view = await placement.now();
  const isMet = (group: RequestGroup) => placement.hasCandidate({ ...asked, groups: [group], sameSubtrees: [] });
  // The schema validates the last value only, Placement reads the first.
  const limit = Math.min(
    Number(query.all('limit')[0]) || Infinity,
    wantsIds ? MAX_WITH_IDS : Infinity,
    Math.max(1, Math.floor(maxCandidatesBytes / bytesOf(asked))),
  );
  const nestedAware = version >= SINCE.nestedCandidates;
  const isPossible = knowsNamesOf(view, asked, isMet);
  const { candidates, isComplete } = isPossible
    ? await placement.candidates(asked, { nestedAware, limit })
    : { candidates: [], isComplete: true };
  if (candidates.length === 0 && !isComplete) throw tooCostly(asked);
  const ids = wantsIds ? new Map(candidates.map((one) => [one, placement.newUuid()])) : undefined;
  if (ids)
    await placement.keepCandidates(
      [...ids].map(([one, id]) => ({ id, content: claimText(one) })),
      principal,
    );
  const json = await candidatesText(placement, asked, candidates, { version, ids });
  return { status: 200, json, lastModifiedMs: 'now' };
}

/** The most candidates of an answer with ids: each is kept in the store. */
const MAX_WITH_IDS = 1_000;

/** The form in which a candidate is kept, whatever microversion it is shown or claimed by. */
const claimText = keyedRequest(NEWEST);

/** Approximate maximum size of a candidate in an answer. */
function bytesOf({ groups }: CandidateQuery): number {
  let bytes = BYTES_OF_PART;
  for (const { suffix, resources } of groups) {
    const classes = Object.keys(resources);
    const providerCount = suffix === '' ? classes.length : 1;
    bytes += suffix.length + providerCount * BYTES_OF_PART;
    for (const name of classes) bytes += name.length + BYTES_OF_AMOUNT;
  }
  return bytes;
}

/** A provider's uuid, once in the allocations and once in the mappings. */
const BYTES_OF_PART = 100;
const BYTES_OF_AMOUNT = 8;

/** Nothing was found before the search limit: an empty answer would claim that nothing exists. */
function tooCostly({ groups }: CandidateQuery): HttpError {
  const detail = `No allocation candidate of ${groups.length} request groups was found in the steps that one query may take: ask for fewer groups, name a tree with in_tree, or raise BERTH_PLACEMENT_MAX_SEARCH_STEPS.`;
  return badRequest(detail, ERROR_CODE.tooCostly);
}

/**
 * The answer to GET /allocation_candidates as JSON text, with candidates up to the size limit of text and summaries.
 * The plain way, an object and `JSON.stringify`, takes five times as long for a thousand candidates: their parts have
 * uuids as keys, so that the engine creates a hidden class for each. Uuids, classes and traits contain no characters
 * that JSON escapes.
 */
async function candidatesText(
  placement: Placement,
  { groups }: CandidateQuery,
  found: readonly Candidate[],
  { version, ids }: { readonly version: Microversion; readonly ids: ReadonlyMap<Candidate, string> | undefined },
): Promise<string> {
  const view = placement.recent;
  const nestedAware = version >= SINCE.nestedCandidates;
  const classes = new Set(groups.flatMap(({ resources }) => Object.keys(resources)));
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  const requestText = version < SINCE.allocationsByProvider ? listedRequest() : keyedRequest(version);
  const summaries = new Map<string, string>();
  const requests: string[] = [];
  let bytesLeft = placement.config.maxCandidatesBytes;
  const turns = placement.turns();
  for (const candidate of found) {
    const keys = nestedAware ? rootsOf(view, [candidate]) : Object.keys(candidate.allocations);
    for (const key of keys.filter((one) => !summaries.has(one))) {
      const text = summaryText(placement, key, shown, version);
      summaries.set(key, text);
      bytesLeft -= text.length;
    }
    // A tree that vanished during a pause has no summary.
    if (keys.some((key) => summaries.get(key) === '')) continue;
    const request = requestText(candidate);
    const text = ids ? `{"id":"${ids.get(candidate)}",${request.slice(1)}` : request;
    bytesLeft -= text.length;
    requests.push(text);
    if (bytesLeft < 0) break;
    if (turns.isPauseDue()) await turns.pause();
  }
  const summarized = [...summaries.values()].filter((text) => text !== '');
  return `{"allocation_requests":[${requests.join()}],"provider_summaries":{${summarized.join()}}}`;
}

/** The summaries of a tree, or of one provider for clients without tree support. */
function summaryText(
  placement: Placement,
  uuid: string,
  shown: ReadonlySet<string> | undefined,
  version: Microversion,
): string {
  const view = placement.recent;
  const nestedAware = version >= SINCE.nestedCandidates;
  if (shown === undefined && nestedAware) return placement.summariesOfTree(uuid);
  const providers = nestedAware ? view.tree(uuid) : [view.provider(uuid)].filter((one) => one !== undefined);
  return providers.map((provider) => providerSummary(view, provider, shown, version)).join();
}

/** Text of candidates that are found again (`KeptCandidates`), with mappings. */
const cached = new WeakMap<Candidate, string>();

/** The form that a client may send unchanged to PUT /allocations/{consumer_uuid}. */
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

/** Most candidates of an answer share one object of amounts: its text is cached. */
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
