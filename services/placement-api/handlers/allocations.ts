import type { Consumer } from '#libs/domain/consumer';
import type { ConsumerGuard, ConsumerWrite } from '#libs/placement/store';
import { HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import { normalUuid } from '../http/uuid';
import type { Placement } from '../placement';
import { allocationsOf, type ConsumerBody } from './consumer-body';
import { unexpected } from './found';
import { newest } from './newest';
import { requireAmounts, whyNotAllocated } from './why-not-allocated';

/** Whose a consumer is that was written before microversion 1.8, which did not ask. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** GET /allocations/{consumer_uuid} */
export async function getConsumerAllocations({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const consumer = view.consumer(consumerUuid(params['consumer_uuid']));
  if (!consumer) return { status: 200, body: { allocations: {} }, lastModifiedMs: 'now' };
  const { projectId, userId, generation, consumerType, updatedAtMs } = consumer;
  const allocations = Object.entries(consumer.allocations).map(([uuid, resources]) => [
    uuid,
    { resources, generation: view.provider(uuid)?.generation },
  ]);
  const body = {
    allocations: Object.fromEntries(allocations) as object,
    ...(version >= SINCE.allocationsByProvider ? { project_id: projectId, user_id: userId } : {}),
    ...(version >= SINCE.consumerGeneration ? { consumer_generation: generation } : {}),
    ...(version >= SINCE.consumerType ? { consumer_type: consumerType ?? 'unknown' } : {}),
  };
  return { status: 200, body, lastModifiedMs: updatedAtMs };
}

/** GET /resource_providers/{uuid}/allocations */
export async function getProviderAllocations({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const provider = view.provider(params['uuid'] ?? '');
  if (!provider) {
    const uuid = params['uuid'];
    throw new HttpError(404, `Resource provider '${uuid}' not found: No resource provider with uuid ${uuid} found`);
  }
  const { uuid, generation } = provider;
  const consumers = [...view.consumersOn(uuid)].flatMap((id) => view.consumer(id) ?? []);
  const allocations = consumers.map((consumer) => [
    consumer.uuid,
    {
      resources: consumer.allocations[uuid],
      ...(version >= SINCE.consumerGeneration ? { consumer_generation: consumer.generation } : {}),
    },
  ]);
  return {
    status: 200,
    body: { resource_provider_generation: generation, allocations: Object.fromEntries(allocations) as object },
    lastModifiedMs: newest(consumers.map(({ updatedAtMs }) => updatedAtMs)),
  };
}

/** PUT /allocations/{consumer_uuid} */
export async function putConsumerAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = request.params['consumer_uuid'] ?? '';
  const uuid = normalUuid(asked);
  if (uuid === undefined) throw new HttpError(400, `Malformed consumer_uuid: ${asked}`);
  const bodies = { [uuid]: request.body() as ConsumerBody };
  return write(request.version, bodies, placement, `Unable to allocate inventory for consumer ${uuid}: `);
}

/** POST /allocations: many consumers, all or nothing. */
export async function postAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const bodies = request.body() as Record<string, ConsumerBody>;
  return write(request.version, bodies, placement, 'Unable to allocate inventory ');
}

/** DELETE /allocations/{consumer_uuid} */
export async function deleteConsumerAllocations({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = params['consumer_uuid'] ?? '';
  const result = await placement.commit({ kind: 'write_allocations', consumers: [removal(consumerUuid(asked))] });
  if (result.kind === 'committed') return { status: 204 };
  if (result.kind === 'unchanged') throw new HttpError(404, `No allocations for consumer '${asked}'`);
  throw unexpected(result);
}

async function write(
  version: Microversion,
  bodies: Readonly<Record<string, ConsumerBody>>,
  placement: Placement,
  noClass: string,
): Promise<Answer> {
  const consumers = await consumerWrites(bodies, version, placement);
  requireAmounts({ consumers, view: placement.lately, noClass });
  const result = await placement.commit({ kind: 'write_allocations', consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw whyNotAllocated(result, { consumers, view: await placement.now(), noClass });
}

/** Bodies as the store takes them. What an old microversion can't say about a consumer stays as it is. */
export async function consumerWrites(
  bodies: Readonly<Record<string, ConsumerBody>>,
  version: Microversion,
  placement: Placement,
): Promise<ConsumerWrite[]> {
  const isNew = (body: ConsumerBody) => version >= SINCE.consumerGeneration && body.consumer_generation === null;
  // Of a new consumer nothing has to be known, and that is what most claims are for.
  const view = Object.values(bodies).every(isNew) ? placement.lately : await placement.now();
  return Object.entries(bodies).map(([key, body]): ConsumerWrite => {
    const uuid = consumerUuid(key);
    const present = view.consumer(uuid);
    const allocations = allocationsOf(body);
    return {
      uuid,
      projectId: body.project_id ?? NOBODY,
      userId: body.user_id ?? NOBODY,
      consumerType: version >= SINCE.consumerType ? body.consumer_type : present?.consumerType,
      owner: present?.owner ?? 'api',
      allocations,
      mappings: body.mappings ?? {},
      raisesReleased: Object.keys(allocations).length === 0,
      expect: guardOf(body, version),
    };
  });
}

function guardOf({ consumer_generation: generation }: ConsumerBody, version: Microversion): ConsumerGuard {
  if (version < SINCE.consumerGeneration || generation === undefined) return { kind: 'any' };
  return generation === null ? { kind: 'absent' } : { kind: 'generation', generation };
}

function removal(uuid: string): ConsumerWrite {
  const nobody = { projectId: NOBODY, userId: NOBODY, consumerType: undefined, owner: 'api' } as const;
  return { uuid, ...nobody, allocations: {}, mappings: {}, expect: { kind: 'any' } };
}

function consumerUuid(text = ''): Consumer['uuid'] {
  return normalUuid(text) ?? text;
}
