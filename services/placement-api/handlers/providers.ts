import { refusalOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { badRequest, ERROR_CODE, HttpError } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import { type Answer, type ApiRequest, newest } from '../http/request';
import { normalUuid } from '../http/uuid';
import type { Placement } from '../placement';
import { aggregatesOf, resourcesOf, traitsOf } from '../query-values';
import { knowsNames } from '../unknown-names';
import { requireCommitted, requireProvider } from './store-results';

const NO_PARENT = 'parent provider UUID does not exist.';

interface ProviderBody {
  readonly name: string;
  readonly uuid?: string;
  readonly parent_provider_uuid?: string | null;
}

/** GET /resource_providers */
export async function listProviders({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const traits = traitsOf(query, '', version);
  const aggregates = aggregatesOf(query, '', version);
  const resources = resourcesOf(query.last('resources'));
  // An empty name is no filter.
  const [uuid, name, inTree] = [query.last('uuid'), query.last('name') || undefined, query.last('in_tree')];
  const view = await placement.now();
  const isPossible = knowsNames(view, { inTree, traits, aggregates, resources });
  const wanted = (provider: Provider): boolean => {
    const has = new Set(provider.traits);
    const isIn = (aggregate: string) => provider.aggregates.includes(aggregate);
    return (
      (uuid === undefined || provider.uuid === uuid) &&
      (name === undefined || provider.name === name) &&
      aggregates.required.every((anyOf) => anyOf.some(isIn)) &&
      !aggregates.forbidden.some(isIn) &&
      traits.required.every((anyOf) => anyOf.some((trait) => has.has(trait))) &&
      !traits.forbidden.some((trait) => has.has(trait)) &&
      hasRoom(view, provider, resources)
    );
  };
  const found = isPossible ? [...findByIdentity(view, { uuid, name, inTree })].filter(wanted) : [];
  return {
    status: 200,
    body: { resource_providers: found.map((provider) => providerBody(provider, version, placement)) },
    lastModifiedMs: newest(found.map(({ updatedAtMs }) => updatedAtMs)),
  };
}

/** POST /resource_providers */
export async function createProvider({ body, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const { name, uuid: asked, parent_provider_uuid: parent } = body() as ProviderBody;
  const uuid = (asked !== undefined && normalUuid(asked)) || placement.newUuid();
  const refuse = (reason: string) =>
    badRequest(`Unable to create resource provider "${name}", ${uuid}: Object action create failed because: ${reason}`);
  if (name === '') throw refuse('name is required');
  if (parent === uuid) {
    throw refuse(
      'parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.',
    );
  }
  const parentUuid = parent ?? undefined;
  const result = await placement.commit({ kind: 'put_provider', mode: 'create', uuid, name, parentUuid });
  requireCommitted(result, {
    exists: ({ key }) => nameTaken(key === uuid ? `uuid: ${uuid}` : `name: ${name}`),
    not_found: () => refuse(NO_PARENT),
  });
  const location = `/resource_providers/${uuid}`;
  if (version < SINCE.createdProviderInBody) return { status: 201, location };
  return { ...show(requireProvider(placement.recent, uuid), version, placement), location };
}

/** GET /resource_providers/{uuid} */
export async function getProvider({ params, version }: ApiRequest, placement: Placement): Promise<Answer> {
  return show(requireProvider(await placement.now(), params.uuid), version, placement);
}

/** PUT /resource_providers/{uuid} */
export async function updateProvider(request: ApiRequest, placement: Placement): Promise<Answer> {
  const { params, version } = request;
  const view = await placement.now();
  const { uuid, parentUuid: present } = requireProvider(view, params.uuid);
  const { name, parent_provider_uuid: parent } = request.body() as ProviderBody;
  const refuse = (action: string, reason: string) =>
    badRequest(`Unable to save resource provider ${uuid}: Object action ${action} failed because: ${reason}`);
  const parentUuid = parent === undefined ? present : (parent ?? undefined);
  if (parent && !view.provider(parent)) throw refuse('create', NO_PARENT);
  if (version < SINCE.reparenting && present !== undefined && parentUuid !== present) {
    throw refuse('update', `${parentUuid === undefined ? 'un' : 're'}-parenting a provider is not currently allowed.`);
  }
  const result = await placement.commit({ kind: 'put_provider', mode: 'update', uuid, name, parentUuid });
  requireCommitted(result, {
    exists: () => nameTaken(name),
    in_use: () => refuse('update', 'creating loop in the provider tree is not allowed.'),
    not_found: ({ subject }) => (subject === 'parent' ? refuse('create', NO_PARENT) : undefined),
  });
  return show(requireProvider(placement.recent, uuid), version, placement);
}

/** DELETE /resource_providers/{uuid} */
export async function deleteProvider({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const uuid = params.uuid;
  const result = await placement.commit({ kind: 'delete_provider', uuid });
  requireCommitted(result, {
    not_found: () => new HttpError(404, `No resource provider with uuid ${uuid} found for delete`),
    in_use: ({ by }) => (by === 'children' ? hasChildren(uuid) : hasAllocations(uuid)),
  });
  return { status: 204 };
}

function hasChildren(uuid: string): HttpError {
  const detail = `Unable to delete parent resource provider ${uuid}: It has child resource providers.`;
  return new HttpError(409, detail, ERROR_CODE.cannotDeleteParent);
}

function hasAllocations(uuid: string): HttpError {
  const detail = `Unable to delete resource provider ${uuid}: Resource provider has allocations.`;
  return new HttpError(409, detail, ERROR_CODE.providerInUse);
}

function nameTaken(what: string): HttpError {
  return new HttpError(409, `Conflicting resource provider ${what} already exists.`, ERROR_CODE.duplicateName);
}

/** The providers that match the filters by identity, found by index. */
function findByIdentity(
  view: PlacementView,
  by: { uuid: string | undefined; name: string | undefined; inTree: string | undefined },
): Iterable<Provider> {
  if (by.inTree !== undefined) {
    const member = view.provider(by.inTree);
    return member ? view.tree(member.rootUuid) : [];
  }
  if (by.uuid === undefined && by.name === undefined) return view.providers();
  const provider = by.uuid === undefined ? view.providerByName(by.name ?? '') : view.provider(by.uuid);
  return provider ? [provider] : [];
}

function hasRoom(view: PlacementView, { uuid, inventories }: Provider, resources: Record<string, number>): boolean {
  return Object.entries(resources).every(([resourceClass, amount]) => {
    const inventory = inventories[resourceClass];
    return inventory && refusalOf(inventory, view.usage(uuid)[resourceClass] ?? 0, amount) === undefined;
  });
}

function show(provider: Provider, version: Microversion, placement: Placement): Answer {
  return { status: 200, body: providerBody(provider, version, placement), lastModifiedMs: provider.updatedAtMs };
}

function providerBody(provider: Provider, version: Microversion, { config }: Placement) {
  const { uuid, name, generation, parentUuid, rootUuid } = provider;
  const self = `${config.pathPrefix}/resource_providers/${uuid}`;
  const related = [
    'inventories',
    'usages',
    ...(version >= SINCE.aggregateLinks ? ['aggregates'] : []),
    ...(version >= SINCE.traitLinks ? ['traits'] : []),
    ...(version >= SINCE.allocationLinks ? ['allocations'] : []),
  ];
  return {
    uuid,
    name,
    generation,
    links: [{ rel: 'self', href: self }, ...related.map((rel) => ({ rel, href: `${self}/${rel}` }))],
    ...(version >= SINCE.trees ? { parent_provider_uuid: parentUuid ?? null, root_provider_uuid: rootUuid } : {}),
  };
}
