import { getAggregates, putAggregates } from './handlers/aggregates';
import { listCandidates } from './handlers/allocation-candidates';
import {
  deleteConsumerAllocations,
  getConsumerAllocations,
  getProviderAllocations,
  postAllocations,
  putConsumerAllocations,
} from './handlers/allocations';
import {
  createInventory,
  deleteInventories,
  deleteInventory,
  getInventories,
  getInventory,
  putInventories,
  updateInventory,
} from './handlers/inventories';
import { createProvider, deleteProvider, getProvider, listProviders, updateProvider } from './handlers/providers';
import { reshape } from './handlers/reshaper';
import { createClass, deleteClass, getClass, listClasses, putClass } from './handlers/resource-classes';
import { home } from './handlers/root';
import {
  deleteProviderTraits,
  deleteTrait,
  getProviderTraits,
  getTrait,
  listTraits,
  putProviderTraits,
  putTrait,
} from './handlers/traits';
import { getProviderUsages, getUsages } from './handlers/usages';
import type { Microversion } from './http/microversion';
import type { Handler } from './http/request';
import { type RuleName, ruleOf } from './policy/rules';
import { allocationsBody, consumerAllocationsBody, reshaperBody, usagesQuery } from './schemas/allocations';
import { candidatesQuery } from './schemas/candidates';
import { createInventoryBody, inventoriesBody, inventoryBody } from './schemas/inventories';
import { createClassBody, listTraitsQuery, providerTraitsBody, putClassBody } from './schemas/names';
import type { Schema, Versioned } from './schemas/parts';
import { aggregatesBody, createProviderBody, listProvidersQuery, updateProviderBody } from './schemas/providers';

/** One operation of the API. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `{name}` stands for one step of the path. */
  readonly path: string;
  /** The microversion that brought it. */
  readonly since: Microversion;
  readonly handler: Handler;
  readonly body: Versioned<Schema | undefined> | undefined;
  readonly query: Versioned<Schema> | undefined;
  /** The policy rule that lets somebody use it; undefined: everyone, also without a token. */
  readonly rule: RuleName | undefined;
}

/** Every operation there is: what, since which microversion, by which handler, with which body or query string. */
export const ROUTES: readonly Route[] = [
  route(0, 'GET /', home),
  route(0, 'GET /resource_providers', listProviders, { query: listProvidersQuery }),
  route(0, 'POST /resource_providers', createProvider, { body: createProviderBody }),
  route(0, 'GET /resource_providers/{uuid}', getProvider),
  route(0, 'PUT /resource_providers/{uuid}', updateProvider, { body: updateProviderBody }),
  route(0, 'DELETE /resource_providers/{uuid}', deleteProvider),
  route(0, 'GET /resource_providers/{uuid}/inventories', getInventories),
  route(0, 'POST /resource_providers/{uuid}/inventories', createInventory, { body: createInventoryBody }),
  route(0, 'PUT /resource_providers/{uuid}/inventories', putInventories, { body: inventoriesBody }),
  route(5, 'DELETE /resource_providers/{uuid}/inventories', deleteInventories),
  route(0, 'GET /resource_providers/{uuid}/inventories/{resource_class}', getInventory),
  route(0, 'PUT /resource_providers/{uuid}/inventories/{resource_class}', updateInventory, { body: inventoryBody }),
  route(0, 'DELETE /resource_providers/{uuid}/inventories/{resource_class}', deleteInventory),
  route(0, 'GET /resource_providers/{uuid}/usages', getProviderUsages),
  route(1, 'GET /resource_providers/{uuid}/aggregates', getAggregates),
  route(1, 'PUT /resource_providers/{uuid}/aggregates', putAggregates, { body: aggregatesBody }),
  route(0, 'GET /resource_providers/{uuid}/allocations', getProviderAllocations),
  route(6, 'GET /resource_providers/{uuid}/traits', getProviderTraits),
  route(6, 'PUT /resource_providers/{uuid}/traits', putProviderTraits, { body: providerTraitsBody }),
  route(6, 'DELETE /resource_providers/{uuid}/traits', deleteProviderTraits),
  route(2, 'GET /resource_classes', listClasses),
  route(2, 'POST /resource_classes', createClass, { body: createClassBody }),
  route(2, 'GET /resource_classes/{name}', getClass),
  route(2, 'PUT /resource_classes/{name}', putClass, { body: putClassBody }),
  route(2, 'DELETE /resource_classes/{name}', deleteClass),
  route(6, 'GET /traits', listTraits, { query: listTraitsQuery }),
  route(6, 'GET /traits/{name}', getTrait),
  route(6, 'PUT /traits/{name}', putTrait),
  route(6, 'DELETE /traits/{name}', deleteTrait),
  route(10, 'GET /allocation_candidates', listCandidates, { query: candidatesQuery }),
  route(13, 'POST /allocations', postAllocations, { body: allocationsBody }),
  route(0, 'GET /allocations/{consumer_uuid}', getConsumerAllocations),
  route(0, 'PUT /allocations/{consumer_uuid}', putConsumerAllocations, { body: consumerAllocationsBody }),
  route(0, 'DELETE /allocations/{consumer_uuid}', deleteConsumerAllocations),
  route(9, 'GET /usages', getUsages, { query: usagesQuery }),
  route(30, 'POST /reshaper', reshape, { body: reshaperBody }),
];

function route(
  since: Microversion,
  operation: string,
  handler: Handler,
  { body, query }: { body?: Versioned<Schema | undefined>; query?: Versioned<Schema> } = {},
): Route {
  const [method = '', path = ''] = operation.split(' ');
  return { method: method as Route['method'], path, since, handler, body, query, rule: ruleOf(operation) };
}
