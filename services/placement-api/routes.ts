import { getAggregates, putAggregates } from './handlers/aggregates';
import { listCandidates } from './handlers/allocation-candidates';
import {
  deleteConsumerAllocations,
  getConsumerAllocations,
  getProviderAllocations,
  postAllocations,
  putConsumerAllocations,
} from './handlers/allocations';
import { raiseGenerations } from './handlers/generations';
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
import type { RuleName } from './policy/rules';
import { allocationsBody, consumerAllocationsBody, reshaperBody, usagesQuery } from './schemas/allocations';
import { type Answers, answer } from './schemas/answers';
import { candidatesQuery } from './schemas/candidates';
import { generationsBody } from './schemas/generations';
import { inventoriesBody, inventoryBody, newInventoryBody } from './schemas/inventories';
import { createClassBody, listTraitsQuery, providerTraitsBody, putClassBody } from './schemas/names';
import type { Schema, Versioned } from './schemas/parts';
import { aggregatesBody, createProviderBody, listProvidersQuery, updateProviderBody } from './schemas/providers';

/** One operation of the API. */
export interface Route extends Operation {
  readonly method: Method;
  /** `{name}` stands for one step of the path. */
  readonly path: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

interface Operation {
  /** The microversion that added it. */
  readonly since: Microversion;
  readonly handler: Handler;
  /** The policy rule that permits it; undefined: everyone, also without a token. */
  readonly rule: RuleName | undefined;
  readonly answers: Answers;
  /** The schema of the query string of a GET, or of the body of another method. */
  readonly input: Input | undefined;
}

type Input = Versioned<Schema | undefined>;

/** All operations: microversion, handler, policy rule, input if any, and answers. */
const PATHS: Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>> = {
  '/': { GET: operation(0, home, undefined, answer.versions) },
  '/resource_providers': {
    GET: operation(0, listProviders, 'resource_providers:list', [listProvidersQuery, answer.providers]),
    POST: operation(0, createProvider, 'resource_providers:create', [createProviderBody, answer.provider]),
  },
  '/resource_providers/{uuid}': {
    GET: operation(0, getProvider, 'resource_providers:show', answer.provider),
    PUT: operation(0, updateProvider, 'resource_providers:update', [updateProviderBody, answer.provider]),
    DELETE: operation(0, deleteProvider, 'resource_providers:delete', answer.nothing),
  },
  '/resource_providers/{uuid}/inventories': {
    GET: operation(0, getInventories, 'resource_providers:inventories:list', answer.inventories),
    POST: operation(0, createInventory, 'resource_providers:inventories:create', [
      newInventoryBody,
      answer.newInventory,
    ]),
    PUT: operation(0, putInventories, 'resource_providers:inventories:update', [inventoriesBody, answer.inventories]),
    DELETE: operation(5, deleteInventories, 'resource_providers:inventories:delete', answer.nothing),
  },
  '/resource_providers/{uuid}/inventories/{resource_class}': {
    GET: operation(0, getInventory, 'resource_providers:inventories:show', answer.inventory),
    PUT: operation(0, updateInventory, 'resource_providers:inventories:update', [inventoryBody, answer.inventory]),
    DELETE: operation(0, deleteInventory, 'resource_providers:inventories:delete', answer.nothing),
  },
  '/resource_providers/{uuid}/usages': {
    GET: operation(0, getProviderUsages, 'resource_providers:usages', answer.providerUsages),
  },
  '/resource_providers/{uuid}/aggregates': {
    GET: operation(1, getAggregates, 'resource_providers:aggregates:list', answer.aggregates),
    PUT: operation(1, putAggregates, 'resource_providers:aggregates:update', [aggregatesBody, answer.aggregates]),
  },
  '/resource_providers/{uuid}/allocations': {
    GET: operation(0, getProviderAllocations, 'resource_providers:allocations:list', answer.providerAllocations),
  },
  '/resource_providers/{uuid}/traits': {
    GET: operation(6, getProviderTraits, 'resource_providers:traits:list', answer.traits),
    PUT: operation(6, putProviderTraits, 'resource_providers:traits:update', [providerTraitsBody, answer.traits]),
    DELETE: operation(6, deleteProviderTraits, 'resource_providers:traits:delete', answer.nothing),
  },
  '/resource_classes': {
    GET: operation(2, listClasses, 'resource_classes:list', answer.resourceClasses),
    POST: operation(2, createClass, 'resource_classes:create', [createClassBody, answer.made]),
  },
  '/resource_classes/{name}': {
    GET: operation(2, getClass, 'resource_classes:show', answer.resourceClass),
    PUT: operation(2, putClass, 'resource_classes:update', [putClassBody, answer.madeOrThere]),
    DELETE: operation(2, deleteClass, 'resource_classes:delete', answer.nothing),
  },
  '/traits': { GET: operation(6, listTraits, 'traits:list', [listTraitsQuery, answer.traitNames]) },
  '/traits/{name}': {
    GET: operation(6, getTrait, 'traits:show', answer.nothing),
    PUT: operation(6, putTrait, 'traits:update', answer.madeOrThere),
    DELETE: operation(6, deleteTrait, 'traits:delete', answer.nothing),
  },
  '/allocation_candidates': {
    GET: operation(10, listCandidates, 'allocation_candidates:list', [candidatesQuery, answer.candidates]),
  },
  '/allocations': { POST: operation(13, postAllocations, 'allocations:manage', [allocationsBody, answer.nothing]) },
  '/allocations/{consumer_uuid}': {
    GET: operation(0, getConsumerAllocations, 'allocations:list', answer.consumerAllocations),
    PUT: operation(0, putConsumerAllocations, 'allocations:update', [consumerAllocationsBody, answer.nothing]),
    DELETE: operation(0, deleteConsumerAllocations, 'allocations:delete', answer.nothing),
  },
  '/usages': { GET: operation(9, getUsages, 'usages', [usagesQuery, answer.projectUsages]) },
  '/berth/generations': {
    POST: operation(0, raiseGenerations, 'allocations:manage', [generationsBody, answer.nothing]),
  },
  '/reshaper': { POST: operation(30, reshape, 'reshaper:reshape', [reshaperBody, answer.nothing]) },
};

export const ROUTES: readonly Route[] = Object.entries(PATHS).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, its]) => ({ method: method as Method, path, ...its })),
);

function operation(
  since: Microversion,
  handler: Handler,
  rule: RuleName | undefined,
  schemas: Answers | readonly [input: Input, answers: Answers],
): Operation {
  const [input, answers] = isPair(schemas) ? schemas : [undefined, schemas];
  return { since, handler, rule, answers, input };
}

function isPair(schemas: Answers | readonly [Input, Answers]): schemas is readonly [Input, Answers] {
  return Array.isArray(schemas);
}
