import { capacityOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { Candidate } from '#libs/placement/candidates/query';
import type { PlacementView } from '#libs/placement/view';
import { candidateQuery } from '../candidate-query';
import { HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { unknownClass, unknownTraits } from '../query-values';

/** GET /allocation_candidates */
export async function listCandidates({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = candidateQuery(query, version, placement.limits.requestGroups);
  const view = await placement.now();
  const classes = new Set(asked.groups.flatMap(({ resources }) => Object.keys(resources)));
  const noClass = unknownClass(view, [...classes]);
  if (noClass !== undefined) {
    throw new HttpError(400, `Invalid resource class in resources parameter: No such resource class ${noClass}.`);
  }
  const traits = asked.groups.flatMap((group) => [...group.requiredTraits.flat(), ...group.forbiddenTraits]);
  const noTraits = unknownTraits(view, [...traits, ...asked.rootRequiredTraits, ...asked.rootForbiddenTraits]);
  if (noTraits !== undefined) throw new HttpError(400, `No such trait(s): ${noTraits}.`);
  const limit = query.all('limit')[0];
  const nestedAware = version >= SINCE.nestedCandidates;
  const { candidates, summaries } = placement.candidates(asked, {
    nestedAware,
    ...(limit === undefined ? {} : { limit: Number(limit) }),
  });
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  return {
    status: 200,
    body: {
      allocation_requests: candidates.map((candidate) => allocationRequest(candidate, version)),
      provider_summaries: Object.fromEntries(
        summaries.map((provider) => [provider.uuid, summary(view, provider, shown, version)]),
      ) as object,
    },
    lastModifiedMs: 'now',
  };
}

/** What a client may send to PUT /allocations/{consumer_uuid} as it is; a list before 1.12. */
function allocationRequest({ allocations, mappings }: Candidate, version: Microversion) {
  const entries = Object.entries(allocations);
  if (version < SINCE.allocationsByProvider) {
    return { allocations: entries.map(([uuid, resources]) => ({ resource_provider: { uuid }, resources })) };
  }
  const byProvider = Object.fromEntries(entries.map(([uuid, resources]) => [uuid, { resources }]));
  return { allocations: byProvider, ...(version >= SINCE.mappings ? { mappings } : {}) };
}

function summary(
  view: PlacementView,
  { uuid, inventories, traits, parentUuid, rootUuid }: Provider,
  shown: ReadonlySet<string> | undefined,
  version: Microversion,
) {
  const used = view.usage(uuid);
  const resources: Record<string, { capacity: number; used: number }> = {};
  for (const [name, inventory] of Object.entries(inventories)) {
    if (shown?.has(name) === false) continue;
    resources[name] = { capacity: capacityOf(inventory), used: used[name] ?? 0 };
  }
  return {
    resources,
    ...(version >= SINCE.traitsInSummaries ? { traits } : {}),
    ...(version >= SINCE.nestedCandidates
      ? { parent_provider_uuid: parentUuid ?? null, root_provider_uuid: rootUuid }
      : {}),
  };
}
