import type { Provider } from '#libs/domain/provider';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { providerConflict, requireCommitted, requireProvider } from './store-results';

type Body =
  | readonly string[]
  | { readonly aggregates: readonly string[]; readonly resource_provider_generation: number };

/** GET /resource_providers/{uuid}/aggregates */
export async function getAggregates({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  return show(requireProvider(await placement.now(), params.uuid), version);
}

/** PUT /resource_providers/{uuid}/aggregates; guarded by the generation since 1.19. */
export async function putAggregates(request: ApiRequest, placement: Placement): Promise<Answer> {
  const { uuid: providerUuid } = requireProvider(await placement.now(), request.params.uuid);
  const body = request.body() as Body;
  const [aggregates, generation] =
    'aggregates' in body ? [body.aggregates, body.resource_provider_generation] : [body, undefined];
  const result = await placement.commit({ kind: 'write_aggregates', providerUuid, generation, aggregates });
  requireCommitted(result, { generation: providerConflict });
  return show(requireProvider(placement.recent, providerUuid), request.version);
}

function show({ aggregates, generation }: Provider, version: Microversion): Answer {
  const guard = version >= SINCE.aggregateGeneration ? { resource_provider_generation: generation } : {};
  return { status: 200, body: { aggregates, ...guard }, lastModifiedMs: 'now' };
}
