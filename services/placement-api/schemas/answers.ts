import { anyText, CLASS_NAME, exactly, integer, keyed, type Schema, text, uuid } from './parts';

/** The bodies of an operation's successful answers, by status; undefined for no body. */
export type Answers = Readonly<Partial<Record<200 | 201 | 204, Schema | undefined>>>;

const generation = { resource_provider_generation: integer };
const amounts = keyed(CLASS_NAME, integer);
const list = (items: Schema): Schema => ({ type: 'array', items });
/** An object with all of these properties. */
const whole = (properties: Readonly<Record<string, Schema>>): Schema => exactly(properties, Object.keys(properties));
const parents = { parent_provider_uuid: { anyOf: [uuid, { type: 'null' }] }, root_provider_uuid: uuid };
const links = list(whole({ rel: text, href: text }));

const versions = whole({
  versions: list(whole({ id: text, max_version: text, min_version: text, status: text, links })),
});
const provider = whole({ uuid, name: text, generation: integer, links, ...parents });
const inventoryFields = {
  total: integer,
  reserved: integer,
  min_unit: integer,
  max_unit: integer,
  step_size: integer,
  allocation_ratio: { type: 'number' },
};
const inventory = whole({ ...inventoryFields, ...generation });
const inventories = whole({ ...generation, inventories: keyed(CLASS_NAME, whole(inventoryFields)) });
const aggregates = whole({ ...generation, aggregates: list(uuid) });
const traits = whole({ ...generation, traits: list(text) });
const resourceClass = whole({ name: text, links });
const consumerAllocations = exactly(
  {
    allocations: keyed(anyText, whole({ generation: integer, resources: amounts })),
    project_id: text,
    user_id: text,
    consumer_generation: integer,
    consumer_type: text,
  },
  ['allocations'],
);
const candidates = whole({
  allocation_requests: list(
    whole({ allocations: keyed(anyText, whole({ resources: amounts })), mappings: keyed(anyText, list(uuid)) }),
  ),
  provider_summaries: keyed(
    anyText,
    whole({
      resources: keyed(CLASS_NAME, whole({ capacity: integer, used: integer })),
      traits: list(text),
      ...parents,
    }),
  ),
});

/** The answers of each operation at the newest microversion. */
export const ANSWERS: Readonly<Record<string, Answers>> = {
  'GET /': { 200: versions },
  'GET /resource_providers': { 200: whole({ resource_providers: list(provider) }) },
  'POST /resource_providers': { 200: provider },
  'GET /resource_providers/{uuid}': { 200: provider },
  'PUT /resource_providers/{uuid}': { 200: provider },
  'DELETE /resource_providers/{uuid}': { 204: undefined },
  'GET /resource_providers/{uuid}/inventories': { 200: inventories },
  'POST /resource_providers/{uuid}/inventories': { 201: inventory },
  'PUT /resource_providers/{uuid}/inventories': { 200: inventories },
  'DELETE /resource_providers/{uuid}/inventories': { 204: undefined },
  'GET /resource_providers/{uuid}/inventories/{resource_class}': { 200: inventory },
  'PUT /resource_providers/{uuid}/inventories/{resource_class}': { 200: inventory },
  'DELETE /resource_providers/{uuid}/inventories/{resource_class}': { 204: undefined },
  'GET /resource_providers/{uuid}/usages': { 200: whole({ ...generation, usages: amounts }) },
  'GET /resource_providers/{uuid}/aggregates': { 200: aggregates },
  'PUT /resource_providers/{uuid}/aggregates': { 200: aggregates },
  'GET /resource_providers/{uuid}/allocations': {
    200: whole({
      ...generation,
      allocations: keyed(anyText, whole({ resources: amounts, consumer_generation: integer })),
    }),
  },
  'GET /resource_providers/{uuid}/traits': { 200: traits },
  'PUT /resource_providers/{uuid}/traits': { 200: traits },
  'DELETE /resource_providers/{uuid}/traits': { 204: undefined },
  'GET /resource_classes': { 200: whole({ resource_classes: list(resourceClass) }) },
  'POST /resource_classes': { 201: undefined },
  'GET /resource_classes/{name}': { 200: resourceClass },
  'PUT /resource_classes/{name}': { 201: undefined, 204: undefined },
  'DELETE /resource_classes/{name}': { 204: undefined },
  'GET /traits': { 200: whole({ traits: list(text) }) },
  'GET /traits/{name}': { 204: undefined },
  'PUT /traits/{name}': { 201: undefined, 204: undefined },
  'DELETE /traits/{name}': { 204: undefined },
  'GET /allocation_candidates': { 200: candidates },
  'POST /allocations': { 204: undefined },
  'GET /allocations/{consumer_uuid}': { 200: consumerAllocations },
  'PUT /allocations/{consumer_uuid}': { 204: undefined },
  'DELETE /allocations/{consumer_uuid}': { 204: undefined },
  'GET /usages': { 200: whole({ usages: keyed(anyText, keyed(`${CLASS_NAME}|^consumer_count$`, integer)) }) },
  'POST /reshaper': { 204: undefined },
};
