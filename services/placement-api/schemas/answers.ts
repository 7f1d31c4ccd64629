import { anyText, CLASS_NAME, exactly, integer, keyed, list, orNull, type Schema, text, uuid, whole } from './parts';

/** The bodies of an operation's successful answers at the newest microversion, by status; undefined for no body. */
export type Answers = Readonly<Partial<Record<200 | 201 | 202 | 204, Schema | undefined>>>;

const generation = { resource_provider_generation: integer };
const amounts = keyed(CLASS_NAME, integer);
/** An answer with this body. */
const shows = (properties: Readonly<Record<string, Schema>>): Answers => ({ 200: whole(properties) });
const parents = { parent_provider_uuid: orNull(uuid), root_provider_uuid: uuid };
const links = list(whole({ rel: text, href: text }));
const providerFields = { uuid, name: text, generation: integer, links, ...parents };
const inventoryFields = {
  total: integer,
  reserved: integer,
  min_unit: integer,
  max_unit: integer,
  step_size: integer,
  allocation_ratio: { type: 'number' },
};
const classFields = { name: text, links };
const heldByConsumer = whole({ resources: amounts, consumer_generation: integer });
const inventory = whole({ ...inventoryFields, ...generation });

/** The answers of each operation. */
export const answer = {
  nothing: { 204: undefined },
  made: { 201: undefined },
  madeOrThere: { 201: undefined, 204: undefined },
  versions: shows({
    versions: list(whole({ id: text, max_version: text, min_version: text, status: text, links })),
  }),
  provider: shows(providerFields),
  providers: shows({ resource_providers: list(whole(providerFields)) }),
  inventory: { 200: inventory },
  newInventory: { 201: inventory },
  inventories: shows({ ...generation, inventories: keyed(CLASS_NAME, whole(inventoryFields)) }),
  aggregates: shows({ ...generation, aggregates: list(uuid) }),
  traits: shows({ ...generation, traits: list(text) }),
  providerUsages: shows({ ...generation, usages: amounts }),
  providerAllocations: shows({ ...generation, allocations: keyed(anyText, heldByConsumer) }),
  resourceClass: shows(classFields),
  resourceClasses: shows({ resource_classes: list(whole(classFields)) }),
  traitNames: shows({ traits: list(text) }),
  projectUsages: shows({
    usages: keyed(anyText, keyed(`${CLASS_NAME}|^consumer_count$`, integer)),
  }),
  consumerAllocations: {
    200: exactly(
      {
        allocations: keyed(anyText, whole({ generation: integer, resources: amounts })),
        project_id: text,
        user_id: text,
        consumer_generation: integer,
        consumer_type: text,
      },
      ['allocations'],
    ),
  },
  candidates: shows({
    allocation_requests: list(
      exactly(
        { id: uuid, allocations: keyed(anyText, whole({ resources: amounts })), mappings: keyed(anyText, list(uuid)) },
        ['allocations', 'mappings'],
      ),
    ),
    provider_summaries: keyed(
      anyText,
      whole({
        resources: keyed(CLASS_NAME, whole({ capacity: integer, used: integer })),
        traits: list(text),
        ...parents,
      }),
    ),
  }),
} as const satisfies Record<string, Answers>;
