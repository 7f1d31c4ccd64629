import { CANDIDATE_ID_HEADER } from '../http/headers';
import { badRequest, ERROR_CODE, HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import { type Answer, type ApiRequest, newest } from '../http/request';
import { normalUuid } from '../http/uuid';
import type { Placement } from '../placement';
import { type ConsumerBody, consumerUuid, consumerWrites, type KeyedAllocations, removal } from './consumer-writes';
import { partOf, refused } from './store-results';
import { foreignConsumer, requireAmounts, whyNotAllocated } from './why-not-allocated';

/** GET /allocations/{consumer_uuid} */
export async function getConsumerAllocations({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const consumer = view.consumer(consumerUuid(params.consumer_uuid));
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
  const { uuid } = params;
  const provider = view.provider(uuid);
  if (!provider) {
    throw new HttpError(404, `Resource provider '${uuid}' not found: No resource provider with uuid ${uuid} found`);
  }
  const consumers = [...view.consumersOn(uuid)].flatMap((id) => view.consumer(id) ?? []);
  const held = consumers.map(({ uuid: consumer, generation, allocations }) => {
    const guard = version >= SINCE.consumerGeneration ? { consumer_generation: generation } : {};
    return [consumer, { resources: allocations[uuid], ...guard }];
  });
  const allocations = Object.fromEntries(held) as object;
  return partOf(provider, { allocations }, newest(consumers.map(({ updatedAtMs }) => updatedAtMs)));
}

/** PUT /allocations/{consumer_uuid} */
export async function putConsumerAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = request.params.consumer_uuid;
  const uuid = normalUuid(asked);
  if (uuid === undefined) throw badRequest(`Malformed consumer_uuid: ${asked}`);
  const claim = (completed?: object) => {
    const bodies = { [uuid]: request.body(completed) as ConsumerBody };
    return write(request, bodies, placement, `Unable to allocate inventory for consumer ${uuid}: `);
  };
  return request.candidateId === undefined ? claim() : claimOnce(request, request.candidateId, placement, claim);
}

/**
 * Claims a candidate that was kept by its id. Two who claim it at once would both hold it if the id were forgotten after the
 * claim; so it is taken first, and put back for as long as it had left when the claim is refused. Of an outcome that is
 * unknown it stays taken: the claim may have been made.
 */
async function claimOnce(
  { version, principal }: ApiRequest,
  id: string,
  placement: Placement,
  claim: (completed: object) => Promise<Answer>,
): Promise<Answer> {
  const key = normalUuid(id);
  if (key === undefined) throw badRequest(`${CANDIDATE_ID_HEADER} must be a uuid, not '${id}'`);
  const kept = await placement.takeCandidate(key);
  if (!kept) {
    const detail = `There is no allocation candidate ${key}: it was claimed, or has expired; ask for candidates again.`;
    throw new HttpError(409, detail, ERROR_CODE.unknownCandidate);
  }
  try {
    return await claim(completedBy(JSON.parse(kept.content) as KeptClaim, version));
  } catch (thrown) {
    if (thrown instanceof HttpError)
      await placement.keepCandidates([{ id: key, content: kept.content }], principal, kept.expiresAtMs);
    throw thrown;
  }
}

/** The part of a body that a candidate stands for. */
type KeptClaim = Required<Pick<ConsumerBody, 'mappings'>> & { readonly allocations: KeyedAllocations };

function completedBy({ allocations, mappings }: KeptClaim, version: Microversion): object {
  if (version >= SINCE.mappings) return { allocations, mappings };
  if (version >= SINCE.allocationsByProvider) return { allocations };
  const listed = Object.entries(allocations).map(([uuid, amounts]) => ({ resource_provider: { uuid }, ...amounts }));
  return { allocations: listed };
}

/** POST /allocations: many consumers, all or nothing. */
export async function postAllocations(request: ApiRequest, placement: Placement): Promise<Answer> {
  const bodies = request.body() as Record<string, ConsumerBody>;
  return write(request, bodies, placement, 'Unable to allocate inventory ');
}

/** DELETE /allocations/{consumer_uuid} */
export async function deleteConsumerAllocations({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = params.consumer_uuid;
  const result = await placement.commit({ kind: 'write_allocations', consumers: [removal(consumerUuid(asked))] });
  if (result.kind === 'committed') return { status: 204 };
  throw refused(result, {
    unchanged: () => new HttpError(404, `No allocations for consumer '${asked}'`),
    owner: ({ uuid }) => foreignConsumer(uuid),
  });
}

async function write(
  { version, isWithinQuota }: ApiRequest,
  bodies: Readonly<Record<string, ConsumerBody>>,
  placement: Placement,
  noClass: string,
): Promise<Answer> {
  const consumers = await consumerWrites(bodies, version, placement);
  requireAmounts({ consumers, view: placement.recent, noClass });
  const result = await placement.commit({ kind: 'write_allocations', consumers, withinQuota: isWithinQuota });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw whyNotAllocated(result, { consumers, view: await placement.now(), noClass });
}
