import { type Inventories, type Inventory, inventory } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { CommitResult, WriteInventories } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { ERROR_CODE, HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { unknownClass } from '../unknown-names';
import { conflict, requireProvider, unexpected } from './store-results';

/** An inventory as clients write it; all but the total are optional. */
export interface InventoryBody {
  readonly total: number;
  readonly reserved?: number;
  readonly min_unit?: number;
  readonly max_unit?: number;
  readonly step_size?: number;
  readonly allocation_ratio?: number;
}

interface Guarded {
  readonly resource_provider_generation: number;
}

export interface InventoriesBody extends Guarded {
  readonly inventories: Readonly<Record<string, InventoryBody>>;
}

/** GET /resource_providers/{uuid}/inventories */
export async function getInventories({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  return showAll(requireProvider(await placement.now(), params['uuid']));
}

/** GET /resource_providers/{uuid}/inventories/{resource_class} */
export async function getInventory({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = params['resource_class'] ?? '';
  const provider = requireProvider(await placement.now(), params['uuid']);
  if (!Object.hasOwn(provider.inventories, resourceClass)) {
    throw new HttpError(404, `No inventory of class ${resourceClass} for ${provider.uuid}`);
  }
  return showOne(provider, resourceClass);
}

/** POST /resource_providers/{uuid}/inventories */
export async function createInventory(request: ApiRequest, placement: Placement): Promise<Answer> {
  // The request has no generation: on a concurrent write try again, as long as the class is new.
  for (;;) {
    const view = await placement.now();
    const provider = requireProvider(view, request.params['uuid']);
    const { resource_class: resourceClass, ...body } = request.body() as InventoryBody & { resource_class: string };
    const refuse = (reason: string) =>
      new HttpError(400, `Unable to create inventory for resource provider ${provider.uuid}: ${reason}`);
    const inventories = inventoriesOf({ [resourceClass]: body });
    requireCapacity(provider, inventories, request.version, refuse);
    requireClasses(view, [resourceClass], refuse);
    if (provider.inventories[resourceClass]) throw conflict(`Update conflict: ${resourceClass} is there already`);
    const result = await write(placement, provider, { inventories, replace: false, generation: provider.generation });
    if (result.kind === 'generation') continue;
    if (result.kind !== 'committed') throw whyNot(result, provider.uuid, refuse);
    const location = `/resource_providers/${provider.uuid}/inventories/${resourceClass}`;
    return { ...showOne(requireProvider(placement.recent, provider.uuid), resourceClass), status: 201, location };
  }
}

/** PUT /resource_providers/{uuid}/inventories/{resource_class} */
export async function updateInventory(request: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = request.params['resource_class'] ?? '';
  const view = await placement.now();
  const provider = requireProvider(view, request.params['uuid']);
  const { resource_provider_generation: generation, ...body } = request.body() as InventoryBody & Guarded;
  const refuse = (reason: string) =>
    new HttpError(400, `No inventory record with resource class for resource provider ${provider.uuid}: ${reason}`);
  if (generation !== provider.generation) throw conflict('resource provider generation conflict');
  const inventories = inventoriesOf({ [resourceClass]: body });
  requireCapacity(provider, inventories, request.version, unableToUpdate(provider));
  requireClasses(view, [resourceClass], (reason) => new HttpError(404, reason));
  if (!Object.hasOwn(provider.inventories, resourceClass))
    throw refuse(`No inventory of class ${resourceClass} found.`);
  const result = await write(placement, provider, { inventories, replace: false, generation });
  if (result.kind !== 'committed') throw whyNot(result, provider.uuid, refuse);
  return showOne(requireProvider(placement.recent, provider.uuid), resourceClass);
}

/** PUT /resource_providers/{uuid}/inventories */
export async function putInventories(request: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const provider = requireProvider(view, request.params['uuid']);
  const body = request.body() as InventoriesBody;
  const generation = body.resource_provider_generation;
  if (generation !== provider.generation) throw conflict('resource provider generation conflict');
  const refuse = (reason: string) =>
    new HttpError(400, `Unknown resource class in inventory for resource provider ${provider.uuid}: ${reason}`);
  const inventories = inventoriesOf(body.inventories);
  requireCapacity(provider, inventories, request.version, unableToUpdate(provider));
  requireClasses(view, Object.keys(inventories), refuse);
  const result = await write(placement, provider, { inventories, replace: true, generation });
  if (result.kind !== 'committed') throw whyNot(result, provider.uuid, refuse);
  return showAll(requireProvider(placement.recent, provider.uuid));
}

/** DELETE /resource_providers/{uuid}/inventories */
export async function deleteInventories({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const provider = requireProvider(await placement.now(), params['uuid']);
  const result = await write(placement, provider, { inventories: {}, replace: true, generation: undefined });
  if (result.kind === 'in_use') {
    throw new HttpError(409, inUse(result.key, provider.uuid), ERROR_CODE.inventoryInUse);
  }
  if (result.kind !== 'committed') throw whyNot(result, provider.uuid, (reason) => new HttpError(400, reason));
  return { status: 204 };
}

/** DELETE /resource_providers/{uuid}/inventories/{resource_class} */
export async function deleteInventory({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = params['resource_class'] ?? '';
  const provider = requireProvider(await placement.now(), params['uuid']);
  const remove = [resourceClass];
  const result = await write(placement, provider, { inventories: {}, replace: false, remove, generation: undefined });
  switch (result.kind) {
    case 'committed':
      return { status: 204 };
    case 'in_use':
      throw conflict(`Unable to delete inventory of class ${resourceClass}: ${inUse(resourceClass, provider.uuid)}`);
    case 'not_found': {
      const because =
        unknownClass(placement.recent, remove) === undefined
          ? `No inventory of class ${resourceClass} found for delete`
          : `No such resource class ${resourceClass}.`;
      throw new HttpError(404, `No inventory of class ${resourceClass} found for delete: ${because}`);
    }
    default:
      throw unexpected(result);
  }
}

/** The inventories of a body, with Placement's defaults. */
export function inventoriesOf(bodies: Readonly<Record<string, InventoryBody>>): Inventories {
  return Object.fromEntries(Object.entries(bodies).map(([resourceClass, body]) => [resourceClass, inventoryOf(body)]));
}

function inventoryOf(body: InventoryBody): Inventory {
  const { total, reserved, min_unit: minUnit, max_unit: maxUnit } = body;
  const { step_size: stepSize, allocation_ratio: allocationRatio } = body;
  const given = Object.entries({ reserved, minUnit, maxUnit, stepSize, allocationRatio });
  return inventory(total, Object.fromEntries(given.filter(([, value]) => value !== undefined)));
}

/** @throws HttpError made by `refuse` when more is reserved than there is. */
function requireCapacity(
  { uuid }: Provider,
  inventories: Inventories,
  version: Microversion,
  refuse: (reason: string) => HttpError,
): void {
  for (const [resourceClass, { total, reserved, allocationRatio }] of Object.entries(inventories)) {
    const free = Math.trunc((total - reserved) * allocationRatio);
    const mayBeNone = version >= SINCE.reservedMayBeTotal;
    if (mayBeNone ? free >= 0 : free > 0) continue;
    const than = mayBeNone ? 'greater than' : 'greater than or equal to';
    throw refuse(
      `Invalid inventory for '${resourceClass}' on resource provider '${uuid}'. The reserved value is ${than} total.`,
    );
  }
}

/** @throws HttpError made by `refuse` when one of the classes does not exist. */
function requireClasses(view: PlacementView, classes: readonly string[], refuse: (reason: string) => HttpError): void {
  const unknown = unknownClass(view, classes);
  if (unknown !== undefined) throw refuse(`No such resource class ${unknown}.`);
}

function unableToUpdate({ uuid }: Provider) {
  return (reason: string) => new HttpError(400, `Unable to update inventory for resource provider ${uuid}: ${reason}`);
}

function write(
  placement: Placement,
  { uuid: providerUuid }: Provider,
  what: Omit<WriteInventories, 'kind' | 'providerUuid'>,
): Promise<CommitResult> {
  return placement.commit({ kind: 'write_inventories', providerUuid, ...what });
}

function whyNot(result: CommitResult, uuid: string, refuse: (reason: string) => HttpError): Error {
  switch (result.kind) {
    case 'generation':
      return conflict(
        'update conflict: Another thread concurrently updated the resource provider data. Please retry your update',
      );
    case 'in_use':
      return new HttpError(409, `update conflict: ${inUse(result.key, uuid)}`, ERROR_CODE.inventoryInUse);
    case 'not_found':
      return result.subject === 'provider'
        ? new HttpError(404, `No resource provider with uuid ${uuid} found`)
        : refuse(`No such resource class ${result.key}.`);
    default:
      return unexpected(result);
  }
}

/** The error text for an inventory that is in use. */
export function inUse(resourceClass: string, uuid: string): string {
  return `Inventory for '${resourceClass}' on resource provider '${uuid}' in use.`;
}

function showAll({ generation, inventories, updatedAtMs }: Provider): Answer {
  const bodies = Object.entries(inventories).map(([resourceClass, inv]) => [resourceClass, inventoryBody(inv)]);
  return {
    status: 200,
    body: { resource_provider_generation: generation, inventories: Object.fromEntries(bodies) as object },
    lastModifiedMs: updatedAtMs,
  };
}

function showOne({ generation, inventories, updatedAtMs }: Provider, resourceClass: string): Answer {
  const inv = inventories[resourceClass];
  return {
    status: 200,
    body: { ...(inv ? inventoryBody(inv) : {}), resource_provider_generation: generation },
    lastModifiedMs: updatedAtMs,
  };
}

function inventoryBody(inv: Inventory) {
  return {
    total: inv.total,
    reserved: inv.reserved,
    min_unit: inv.minUnit,
    max_unit: inv.maxUnit,
    step_size: inv.stepSize,
    allocation_ratio: inv.allocationRatio,
  };
}
