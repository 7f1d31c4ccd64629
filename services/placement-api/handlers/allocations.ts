import type { Allocations, Consumer } from '#libs/domain/consumer';
import { MAX_AMOUNT, type Resources } from '#libs/domain/inventory';
import type { CommitResult, ConsumerGuard, ConsumerWrite } from '#libs/placement/store';
import type { PlacementView } from '#libs/placement/view';
import { HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import { normalUuid } from '../http/uuid';
import type { Placement } from '../placement';
import { unknownClass } from '../query-values';
import { conflict, requireProvider, unexpected } from './found';

/** Whose a consumer is that was written before microversion 1.8, which did not ask. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

type ListedAllocations = readonly {
  readonly resource_provider: { readonly uuid: string };
  readonly resources: Resources;
}[];

/** What a client writes about one consumer; until 1.11 the allocations are a list. */
export interface ConsumerBody {
  readonly allocations: Readonly<Record<string, { readonly resources: Resources }>> | ListedAllocations;
  readonly project_id?: string;
  readonly user_id?: string;
  readonly consumer_generation?: number | null;
  readonly consumer_type?: string;
  readonly mappings?: Readonly<Record<string, readonly string[]>>;
}

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
  const { uuid, generation } = requireProvider(view, params['uuid']);
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
    lastModifiedMs: Math.max(0, ...consumers.map(({ updatedAtMs }) => updatedAtMs)) || 'now',
  };
}

/** PUT /allocations/{consumer_uuid} */
export async function putConsumerAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = request.params['consumer_uuid'] ?? '';
  const uuid = normalUuid(asked);
  if (uuid === undefined) throw new HttpError(400, `Malformed consumer_uuid: ${asked}`);
  const bodies = { [uuid]: request.body() as ConsumerBody };
  const consumers = await consumerWrites(bodies, request.version, placement);
  const result = await placement.commit({ kind: 'write_allocations', consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw whyNotAllocated(result, bodies, placement.lately, `Unable to allocate inventory for consumer ${uuid}: `);
}

/** POST /allocations: many consumers, all or nothing. */
export async function postAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const bodies = request.body() as Record<string, ConsumerBody>;
  const consumers = await consumerWrites(bodies, request.version, placement);
  const result = await placement.commit({ kind: 'write_allocations', consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw whyNotAllocated(result, bodies, placement.lately, 'Unable to allocate inventory ');
}

/** DELETE /allocations/{consumer_uuid} */
export async function deleteConsumerAllocations({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const uuid = consumerUuid(params['consumer_uuid']);
  const result = await placement.commit({ kind: 'write_allocations', consumers: [removal(uuid)] });
  if (result.kind === 'committed') return { status: 204 };
  if (result.kind === 'unchanged') throw new HttpError(404, `No allocations for consumer '${uuid}'`);
  throw unexpected(result);
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
    return {
      uuid,
      projectId: body.project_id ?? NOBODY,
      userId: body.user_id ?? NOBODY,
      consumerType: version >= SINCE.consumerType ? body.consumer_type : present?.consumerType,
      owner: present?.owner ?? 'api',
      allocations: allocationsOf(body),
      mappings: body.mappings ?? {},
      expect: guardOf(body, version),
    };
  });
}

/** Why nothing was written. `prefix` begins the text for a class that does not exist. */
export function whyNotAllocated(
  result: CommitResult,
  bodies: Readonly<Record<string, ConsumerBody>>,
  view: PlacementView,
  prefix: string,
): Error {
  const noInventory = (providerUuid: string, resourceClass: string) =>
    new HttpError(
      409,
      `Unable to allocate inventory: Inventory for '${resourceClass}' on resource provider '${providerUuid}' invalid.`,
    );
  switch (result.kind) {
    case 'capacity':
      return refusedAmount(result.providerUuid, result.resourceClass, result.refusal === 'capacity');
    case 'generation': {
      const given = Object.entries(bodies).find(([key]) => consumerUuid(key) === result.uuid)?.[1].consumer_generation;
      const expected = result.present ?? 'null';
      return conflict(`consumer generation conflict - expected ${expected} but got ${given ?? 'None'}`);
    }
    case 'not_found': {
      const [providerUuid = '', resourceClass = ''] = result.key.split(' ');
      if (result.subject === 'provider') {
        return new HttpError(400, `Allocation for resource provider '${result.key}' that does not exist.`);
      }
      if (result.subject === 'resource_class')
        return new HttpError(400, `${prefix}No such resource class ${result.key}.`);
      return unknownClass(view, [resourceClass]) === undefined
        ? noInventory(providerUuid, resourceClass)
        : new HttpError(400, `${prefix}No such resource class ${resourceClass}.`);
    }
    default:
      return unexpected(result);
  }
}

function refusedAmount(providerUuid: string, resourceClass: string, isCapacity: boolean): HttpError {
  const because = isCapacity ? 'would exceed the capacity' : 'would violate inventory constraints';
  return new HttpError(
    409,
    `Unable to allocate inventory: Unable to create allocation for '${resourceClass}' on resource provider ` +
      `'${providerUuid}'. The requested amount ${because}.`,
  );
}

function allocationsOf({ allocations }: ConsumerBody): Allocations {
  const entries: (readonly [string, Resources])[] = isList(allocations)
    ? allocations.map(({ resource_provider: { uuid }, resources }) => [uuid, resources] as const)
    : Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources] as const);
  for (const [uuid, resources] of entries) {
    for (const [resourceClass, amount] of Object.entries(resources)) {
      // More than any inventory can have, and more than the store can count.
      if (amount > MAX_AMOUNT) throw refusedAmount(uuid, resourceClass, true);
    }
  }
  return Object.fromEntries(entries);
}

function isList(allocations: ConsumerBody['allocations']): allocations is ListedAllocations {
  return Array.isArray(allocations);
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
