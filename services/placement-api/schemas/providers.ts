import { exactly, integer, type Schema, text, uuid, type Versioned } from './parts';

const name: Schema = { type: 'string', maxLength: 200 };
const parent: Schema = { parent_provider_uuid: { anyOf: [uuid, { type: 'null' }] } };

/** POST /resource_providers */
export const createProviderBody: Versioned<Schema> = [
  [0, exactly({ name, uuid }, ['name'])],
  [14, exactly({ name, uuid, ...parent }, ['name'])],
];

/** PUT /resource_providers/{uuid} */
export const updateProviderBody: Versioned<Schema> = [
  [0, exactly({ name }, ['name'])],
  [14, exactly({ name, ...parent }, ['name'])],
];

const first = { name: text, uuid };
const grouped = { ...first, member_of: text };
const sized = { ...grouped, resources: text };
const inTree = { ...sized, in_tree: uuid };

/** GET /resource_providers */
export const listProvidersQuery: Versioned<Schema> = [
  [0, exactly(first)],
  [3, exactly(grouped)],
  [4, exactly(sized)],
  [14, exactly(inTree)],
  [18, exactly({ ...inTree, required: text })],
];

const aggregates: Schema = { type: 'array', items: uuid, uniqueItems: true };

/** PUT /resource_providers/{uuid}/aggregates */
export const aggregatesBody: Versioned<Schema> = [
  [1, aggregates],
  [19, exactly({ aggregates, resource_provider_generation: integer }, ['aggregates', 'resource_provider_generation'])],
];
