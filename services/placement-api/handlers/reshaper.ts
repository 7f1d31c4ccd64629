import type { Inventories } from '#libs/domain/inventory';
import type { CommitResult } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { badRequest, ERROR_CODE, type HttpError } from '../http/http-error';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { unknownClass } from '../unknown-names';
import { type ConsumerBody, consumerWrites } from './consumer-writes';
import { type InventoriesBody, inUseConflict, inventoriesOf } from './inventories';
import { conflict } from './store-results';
import { type Asked, firstFault, requireAmounts, whyNotAllocated } from './why-not-allocated';

interface Body {
  readonly inventories: Readonly<Record<string, InventoriesBody>>;
  readonly allocations: Readonly<Record<string, ConsumerBody>>;
}

const MALFORMED = 'malformed reshaper data: ';

/** POST /reshaper: inventories of providers and the allocations that follow them, all or nothing. */
export async function reshape(request: ApiRequest, placement: Placement): Promise<Answer> {
  const body = request.body() as Body;
  const consumers = await consumerWrites(body.allocations, request.version, placement);
  const view = await placement.now();
  requireProviders(body, view);
  const inventories = Object.entries(body.inventories).map(([providerUuid, given]) => ({
    providerUuid,
    generation: given.resource_provider_generation,
    inventories: inventoriesOf(given.inventories),
  }));
  const next = Object.fromEntries(inventories.map((given) => [given.providerUuid, given.inventories]));
  const asked = { consumers, view, noClass: MALFORMED, inventories: next };
  requireAmounts(asked);
  const unknown = unknownClass(view, Object.values(next).flatMap(Object.keys));
  if (unknown !== undefined) throw firstFault(asked) ?? malformed(unknown);
  const result = await placement.commit({ kind: 'reshape', inventories, consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  const present = await placement.now();
  requireProviders(body, present);
  throw whyNotReshaped(result, { ...asked, view: present });
}

/** @throws HttpError for the first provider that does not exist, or has another generation than given. */
function requireProviders({ inventories }: Body, view: PlacementView): void {
  for (const [uuid, { resource_provider_generation: given }] of Object.entries(inventories)) {
    const provider = view.provider(uuid);
    if (!provider) {
      const detail = `Resource provider ${uuid} in inventories not found: No resource provider with uuid ${uuid} found`;
      throw badRequest(detail, ERROR_CODE.providerNotFound);
    }
    if (provider.generation !== given) {
      throw conflict(
        `resource provider generation conflict for provider ${uuid}: actual: ${provider.generation}, given: ${given}`,
      );
    }
  }
}

function whyNotReshaped(
  result: CommitResult,
  asked: Asked & { readonly inventories: Readonly<Record<string, Inventories>> },
): Error {
  if (result.kind === 'in_use') {
    const [uuid = ''] =
      Object.entries(asked.inventories).find(
        ([provider, next]) => !next[result.key] && asked.view.provider(provider)?.inventories[result.key],
      ) ?? [];
    return inUseConflict(result.key, uuid);
  }
  if (result.kind === 'not_found' && result.subject === 'resource_class') {
    return firstFault(asked) ?? malformed(result.key);
  }
  return whyNotAllocated(result, asked);
}

function malformed(resourceClass: string): HttpError {
  return badRequest(`${MALFORMED}No such resource class ${resourceClass}.`);
}
