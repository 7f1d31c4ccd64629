import type { CommitResult } from '#libs/placement/store';
import { ERROR_CODE, HttpError } from '../http/http-error';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { type ConsumerBody, consumerWrites, whyNotAllocated } from './allocations';
import { conflict } from './found';
import { type InventoriesBody, inventoriesOf } from './inventories';

interface Body {
  readonly inventories: Readonly<Record<string, InventoriesBody>>;
  readonly allocations: Readonly<Record<string, ConsumerBody>>;
}

/** POST /reshaper: inventories of providers and the allocations that follow them, all or nothing. */
export async function reshape(request: ApiRequest, placement: Placement): Promise<Answer> {
  const body = request.body() as Body;
  const inventories = Object.entries(body.inventories).map(([providerUuid, given]) => ({
    providerUuid,
    generation: given.resource_provider_generation,
    inventories: inventoriesOf(given.inventories),
  }));
  const view = await placement.now();
  for (const { inventories: all } of inventories) {
    const unknown = Object.keys(all).find((name) => !view.hasResourceClass(name));
    if (unknown !== undefined) throw malformed(unknown);
  }
  const consumers = await consumerWrites(body.allocations, request.version, placement);
  const result = await placement.commit({ kind: 'reshape', inventories, consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw whyNotReshaped(result, body, placement);
}

function whyNotReshaped(result: CommitResult, body: Body, placement: Placement): Error {
  if (result.kind === 'generation' && result.subject === 'provider') {
    const given = body.inventories[result.uuid]?.resource_provider_generation;
    return conflict(
      `resource provider generation conflict for provider ${result.uuid}: actual: ${result.present}, given: ${given}`,
    );
  }
  if (result.kind === 'in_use') {
    return new HttpError(409, `update conflict: Inventory for '${result.key}' in use.`, ERROR_CODE.inventoryInUse);
  }
  if (result.kind === 'not_found' && result.subject === 'resource_class') return malformed(result.key);
  if (result.kind === 'not_found' && result.subject === 'provider' && body.inventories[result.key]) {
    const detail = `Resource provider ${result.key} in inventories not found: No resource provider with uuid ${result.key} found`;
    return new HttpError(400, detail, ERROR_CODE.providerNotFound);
  }
  return whyNotAllocated(result, body.allocations, placement.lately, 'malformed reshaper data: ');
}

function malformed(resourceClass: string): HttpError {
  return new HttpError(400, `malformed reshaper data: No such resource class ${resourceClass}.`);
}
