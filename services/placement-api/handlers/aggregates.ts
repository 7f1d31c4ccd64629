import type { Provider } from '#libs/domain/provider';
import { HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { conflict, requireProvider, unexpected } from './store-results';

type Body =
  | readonly string[]
  | { readonly aggregates: readonly string[]; readonly resource_provider_generation: number };

/** GET /resource_providers/{uuid}/aggregates */
export async function getAggregates({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  return show(requireProvider(await placement.now(), params['uuid']), version);
}

/** PUT /resource_providers/{uuid}/aggregates; guarded by the generation since 1.19. */
export async function putAggregates(request: ApiRequest, placement: Placement): Promise<Answer> {
  const { uuid: providerUuid } = requireProvider(await placement.now(), request.params['uuid']);
  const body = request.body() as Body;
  const [aggregates, generation] =
    'aggregates' in body ? [body.aggregates, body.resource_provider_generation] : [body, undefined];
  const result = await placement.commit({ kind: 'write_aggregates', providerUuid, generation, aggregates });
  switch (result.kind) {
    case 'committed':
    case 'unchanged':
      return show(requireProvider(placement.recent, providerUuid), request.version);
    case 'generation':
      throw conflict("Resource provider's generation already changed. Please update the generation and try again.");
    case 'not_found':
      throw new HttpError(404, `No resource provider with uuid ${providerUuid} found`);
    default:
      throw unexpected(result);
  }
}

function show({ aggregates, generation }: Provider, version: Microversion): Answer {
  const guard = version >= SINCE.aggregateGeneration ? { resource_provider_generation: generation } : {};
  return { status: 200, body: { aggregates, ...guard }, lastModifiedMs: 'now' };
}
