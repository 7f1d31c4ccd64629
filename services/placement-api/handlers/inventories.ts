import { type Inventories, type Inventory, inventory } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { STANDARD_RESOURCE_CLASSES } from '#libs/domain/standard-names';
import type { CommitResult, WriteInventories } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { badRequest, ERROR_CODE, HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { unknownClass } from '../unknown-names';
import { conflict, partOf, type Refusals, requireCommitted, requireProvider } from './store-results';

/** An inventory in a client's body; all but the total are optional. */
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
  return showAll(requireProvider(await placement.now(), params.uuid));
}

/** GET /resource_providers/{uuid}/inventories/{resource_class} */
export async function getInventory({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = params.resource_class;
  const provider = requireProvider(await placement.now(), params.uuid);
  if (Object.hasOwn(provider.inventories, resourceClass)) return showOne(provider, resourceClass);
  throw new HttpError(404, `No inventory of class ${resourceClass} for ${provider.uuid}`);
}

/** POST /resource_providers/{uuid}/inventories */
export async function createInventory(request: ApiRequest, placement: Placement): Promise<Answer> {
  // The request has no generation: after a concurrent write it retries, as long as the class is new.
  for (;;) {
    const view = await placement.now();
    const provider = requireProvider(view, request.params.uuid);
    const { uuid: providerUuid, generation } = provider;
    const { resource_class: resourceClass, ...body } = request.body() as InventoryBody & { resource_class: string };
    const refuse = refusing(`Unable to create inventory for resource provider ${providerUuid}`);
    const inventories = inventoriesOf({ [resourceClass]: body });
    requireCapacity(provider, inventories, request.version, refuse);
    requireClasses(view, inventories, refuse);
    if (provider.inventories[resourceClass]) throw conflict(`Update conflict: ${resourceClass} is there already`);
    const result = await write(placement, { providerUuid, generation, inventories, replace: false });
    if (result.kind === 'generation') continue;
    requireCommitted(result, refusalsOf(provider, refuse));
    const location = `/resource_providers/${providerUuid}/inventories/${resourceClass}`;
    return { ...showOne(requireProvider(placement.recent, providerUuid), resourceClass), status: 201, location };
  }
}

/** PUT /resource_providers/{uuid}/inventories/{resource_class} */
export async function updateInventory(request: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = request.params.resource_class;
  const view = await placement.now();
  const provider = requireProvider(view, request.params.uuid);
  const { resource_provider_generation: generation, ...body } = request.body() as InventoryBody & Guarded;
  const inventories = inventoriesOf({ [resourceClass]: body });
  requireUpdatable(provider, generation, inventories, request.version);
  requireClasses(view, inventories, (reason) => new HttpError(404, reason));
  const refuse = refusing(`No inventory record with resource class for resource provider ${provider.uuid}`);
  if (!Object.hasOwn(provider.inventories, resourceClass)) {
    throw refuse(`No inventory of class ${resourceClass} found.`);
  }
  const result = await write(placement, { providerUuid: provider.uuid, generation, inventories, replace: false });
  requireCommitted(result, refusalsOf(provider, refuse));
  return showOne(requireProvider(placement.recent, provider.uuid), resourceClass);
}

/** PUT /resource_providers/{uuid}/inventories */
export async function putInventories(request: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const provider = requireProvider(view, request.params.uuid);
  const { resource_provider_generation: generation, inventories: bodies } = request.body() as InventoriesBody;
  const inventories = inventoriesOf(bodies);
  requireUpdatable(provider, generation, inventories, request.version);
  const refuse = refusing(`Unknown resource class in inventory for resource provider ${provider.uuid}`);
  requireClasses(view, inventories, refuse);
  const result = await write(placement, { providerUuid: provider.uuid, generation, inventories, replace: true });
  requireCommitted(result, refusalsOf(provider, refuse));
  return showAll(requireProvider(placement.recent, provider.uuid));
}

/** DELETE /resource_providers/{uuid}/inventories */
export async function deleteInventories({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const { uuid: providerUuid } = requireProvider(await placement.now(), params.uuid);
  const result = await write(placement, { providerUuid, inventories: {}, replace: true, generation: undefined });
  requireCommitted(result, {
    in_use({ key }) {
      const names = classesInUse(placement, providerUuid) || key;
      return new HttpError(409, inUse(names, providerUuid), ERROR_CODE.inventoryInUse);
    },
  });
  return { status: 204 };
}

/** DELETE /resource_providers/{uuid}/inventories/{resource_class} */
export async function deleteInventory({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const resourceClass = params.resource_class;
  const { uuid: providerUuid } = requireProvider(await placement.now(), params.uuid);
  const remove = [resourceClass];
  const result = await write(placement, {
    providerUuid,
    inventories: {},
    replace: false,
    remove,
    generation: undefined,
  });
  const missing = `No inventory of class ${resourceClass} found for delete`;
  requireCommitted(result, {
    in_use: () =>
      conflict(`Unable to delete inventory of class ${resourceClass}: ${inUse(resourceClass, providerUuid)}`),
    not_found() {
      const isKnown = placement.recent.hasResourceClass(resourceClass);
      return new HttpError(404, `${missing}: ${isKnown ? missing : `No such resource class ${resourceClass}.`}`);
    },
  });
  return { status: 204 };
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

function write(placement: Placement, what: Omit<WriteInventories, 'kind'>): Promise<CommitResult> {
  return placement.commit({ kind: 'write_inventories', ...what });
}

type Refuse = (reason: string) => HttpError;

function refusing(what: string): Refuse {
  return (reason) => badRequest(`${what}: ${reason}`);
}

/** @throws HttpError when the generation differs from the provider's, or more is reserved than exists. */
function requireUpdatable(
  provider: Provider,
  generation: number,
  inventories: Inventories,
  version: Microversion,
): void {
  if (generation !== provider.generation) throw conflict('resource provider generation conflict');
  const refuse = refusing(`Unable to update inventory for resource provider ${provider.uuid}`);
  requireCapacity(provider, inventories, version, refuse);
}

/** @throws HttpError made by `refuse` when more is reserved than exists. */
function requireCapacity({ uuid }: Provider, inventories: Inventories, version: Microversion, refuse: Refuse): void {
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
function requireClasses(view: PlacementView, inventories: Inventories, refuse: Refuse): void {
  const unknown = unknownClass(view, Object.keys(inventories));
  if (unknown !== undefined) throw refuse(`No such resource class ${unknown}.`);
}

function refusalsOf({ uuid }: Provider, refuse: Refuse): Refusals {
  return {
    generation: () =>
      conflict(
        'update conflict: Another thread concurrently updated the resource provider data. Please retry your update',
      ),
    in_use: ({ key }) => inUseConflict(key, uuid),
    not_found: ({ subject, key }) => (subject === 'provider' ? undefined : refuse(`No such resource class ${key}.`)),
  };
}

/** The refusal of a write that would remove an inventory that is in use. */
export function inUseConflict(resourceClass: string, uuid: string): HttpError {
  return new HttpError(409, `update conflict: ${inUse(resourceClass, uuid)}`, ERROR_CODE.inventoryInUse);
}

/** The classes in use by a provider's consumers, in Placement's order: that of their creation. */
function classesInUse({ recent }: Placement, providerUuid: string): string {
  const used = recent.usage(providerUuid);
  const createdAtMs = new Map(recent.resourceClasses().map((one) => [one.name, one.createdAtMs]));
  const standard = (name: string) => STANDARD_RESOURCE_CLASSES.indexOf(name);
  return Object.keys(used)
    .filter((name) => (used[name] ?? 0) > 0)
    .sort((a, b) => (createdAtMs.get(a) ?? 0) - (createdAtMs.get(b) ?? 0) || standard(a) - standard(b))
    .join(', ');
}

function inUse(resourceClass: string, uuid: string): string {
  return `Inventory for '${resourceClass}' on resource provider '${uuid}' in use.`;
}

function showAll(provider: Provider): Answer {
  const bodies = Object.entries(provider.inventories).map(([name, inv]) => [name, inventoryBody(inv)]);
  return partOf(provider, { inventories: Object.fromEntries(bodies) as object });
}

function showOne(provider: Provider, resourceClass: string): Answer {
  const inv = provider.inventories[resourceClass];
  return partOf(provider, inv ? inventoryBody(inv) : {});
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
