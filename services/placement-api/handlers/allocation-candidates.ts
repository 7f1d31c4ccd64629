import { capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { RequestGroup } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import { candidateQuery } from '../candidate-query';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { knowsNamesOf } from '../unknown-names';

/** GET /allocation_candidates */
export async function listCandidates({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = candidateQuery(query, version, placement.config.maxRequestGroups);
  const view = await placement.now();
  // The schema validates the last value only, Placement reads the first.
  const limit = Number(query.all('limit')[0]) || undefined;
  const nestedAware = version >= SINCE.nestedCandidates;
  const isMet = (group: RequestGroup) =>
    placement.candidates({ ...asked, groups: [group], sameSubtrees: [] }, { limit: 1 }).candidates.length > 0;
  const found = knowsNamesOf(view, asked, isMet)
    ? placement.candidates(asked, { nestedAware, ...(limit === undefined ? {} : { limit }) })
    : { candidates: [], summaries: [] };
  const classes = new Set(asked.groups.flatMap(({ resources }) => Object.keys(resources)));
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  return { status: 200, json: candidatesText(view, found, shown, version), lastModifiedMs: 'now' };
}

/**
 * The answer to GET /allocation_candidates as JSON text. The plain way, an object and `JSON.stringify`, takes five
 * times as long for a thousand candidates: their parts have uuids as keys, so that the engine makes a hidden class for
 * each. Uuids, classes and traits have no characters that JSON escapes.
 *
 * @param shown  the classes in summaries; all when undefined
 */
function candidatesText(
  view: PlacementView,
  found: { readonly candidates: readonly Candidate[]; readonly summaries: readonly Provider[] },
  shown: ReadonlySet<string> | undefined,
  version: Microversion,
): string {
  const requestText = version < SINCE.allocationsByProvider ? listedRequest() : keyedRequest(version);
  const requests = found.candidates.map(requestText);
  const isFull = shown === undefined && version >= SINCE.nestedCandidates;
  const summaries = found.summaries.map((provider) =>
    isFull ? fullSummary(view, provider) : summary(view, provider, shown, version),
  );
  return `{"allocation_requests":[${requests.join()}],"provider_summaries":{${summaries.join()}}}`;
}

/** What a client may send to PUT /allocations/{consumer_uuid} as it is. */
function keyedRequest(version: Microversion): (candidate: Candidate) => string {
  const hasMappings = version >= SINCE.mappings;
  const amounts = amountsText();
  return ({ allocations, mappings }) => {
    const parts: string[] = [];
    for (const uuid in allocations) parts.push(`"${uuid}":{"resources":${amounts(allocations[uuid])}}`);
    const mapped = hasMappings ? `,"mappings":{${mappedText(mappings)}}` : '';
    return `{"allocations":{${parts.join()}}${mapped}}`;
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

function namesText(names: readonly string[] = []): string {
  return names.length === 0 ? '[]' : `["${names.join('","')}"]`;
}

/** The last summary of each row of a provider. */
const cached = new WeakMap<Provider, { readonly used: Resources; readonly text: string }>();

/** The summary since 1.29, made once for each state of a provider, because the same providers are in many answers. */
function fullSummary(view: PlacementView, provider: Provider): string {
  const used = view.usage(provider.uuid);
  const known = cached.get(provider);
  if (known?.used === used) return known.text;
  const text = summary(view, provider, undefined, SINCE.nestedCandidates);
  cached.set(provider, { used, text });
  return text;
}

function summary(
  view: PlacementView,
  { uuid, inventories, traits, parentUuid, rootUuid }: Provider,
  shown: ReadonlySet<string> | undefined,
  version: Microversion,
): string {
  const used = view.usage(uuid);
  const resources: string[] = [];
  for (const name in inventories) {
    const inventory = inventories[name];
    if (inventory === undefined || shown?.has(name) === false) continue;
    resources.push(`"${name}":{"capacity":${capacityOf(inventory)},"used":${used[name] ?? 0}}`);
  }
  const described = version >= SINCE.traitsInSummaries ? `,"traits":${namesText(traits)}` : '';
  const parent = parentUuid === undefined ? 'null' : `"${parentUuid}"`;
  const placed =
    version >= SINCE.nestedCandidates ? `,"parent_provider_uuid":${parent},"root_provider_uuid":"${rootUuid}"` : '';
  return `"${uuid}":{"resources":{${resources.join()}}${described}${placed}}`;
}
