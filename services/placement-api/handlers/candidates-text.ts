import { capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { Candidate } from '#libs/placement/candidates/query';
import type { PlacementView } from '#libs/placement/view';
import { type Microversion, SINCE } from '../http/microversion';

/**
 * The answer to GET /allocation_candidates as JSON text. The plain way is an object and `JSON.stringify`; but its parts
 * have uuids for keys, so that the engine makes a new shape for each, and a thousand candidates take five times as long
 * as their text. Uuids, classes and traits have no character that JSON would escape.
 *
 * @param shown  the classes that summaries tell about; all when undefined
 */
export function candidatesText(
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

/** The same before microversion 1.12. */
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

/** Most candidates of an answer take the very same amounts: the text of the last ones is kept. */
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

interface Told {
  readonly used: Resources;
  readonly text: string;
}

/** What was last told of a provider's row, for as long as the row is there. */
const told = new WeakMap<Provider, Told>();

/** The summary as all versions since 1.29 have it, made once for each state of a provider: answers overlap. */
function fullSummary(view: PlacementView, provider: Provider): string {
  const used = view.usage(provider.uuid);
  const known = told.get(provider);
  if (known?.used === used) return known.text;
  const text = summary(view, provider, undefined, SINCE.nestedCandidates);
  told.set(provider, { used, text });
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
