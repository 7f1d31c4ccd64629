import { inventories } from './inventories';
import {
  CLASS_NAME,
  exactly,
  integer,
  keyed,
  NAMED_GROUP,
  type Schema,
  text,
  UUID_KEY,
  uuid,
  type Versioned,
  visibleName,
} from './parts';

const resources = keyed(CLASS_NAME, { type: 'integer', minimum: 1 }, { minProperties: 1 });

// Until 1.11 allocations are a list, since 1.12 an object by provider: the form of the answers.
const asList = {
  allocations: {
    type: 'array',
    minItems: 1,
    items: exactly({ resource_provider: strictly({ uuid }, ['uuid']), resources }, ['resource_provider', 'resources']),
  },
};
const byProvider = keyed(UUID_KEY, exactly({ generation: integer, resources }, ['resources']));
const owner = { project_id: visibleName, user_id: visibleName };
const ownerNames = ['allocations', 'project_id', 'user_id'];

const some: Schema = strictly({ allocations: { ...byProvider, minProperties: 1 }, ...owner }, ownerNames);
/** Empty allocations delete the consumer's allocations. */
const someOrNone: Schema = strictly({ allocations: byProvider, ...owner }, ownerNames);

const guarded = { allocations: byProvider, ...owner, consumer_generation: { type: ['integer', 'null'] } };
const guardedNames = [...ownerNames, 'consumer_generation'];
const mapped = {
  ...guarded,
  mappings: {
    type: 'object',
    minProperties: 1,
    patternProperties: { [NAMED_GROUP]: { type: 'array', minItems: 1, items: uuid } },
  },
};
const typed = { ...mapped, consumer_type: consumerType(CLASS_NAME) };

const consumerAt28 = strictly(guarded, guardedNames);
const consumerAt34 = strictly(mapped, guardedNames);
const consumerAt38 = strictly(typed, [...guardedNames, 'consumer_type']);

/** PUT /allocations/{consumer_uuid} */
export const consumerAllocationsBody: Versioned<Schema> = [
  [0, exactly(asList, ['allocations'])],
  [8, exactly({ ...asList, ...owner }, ownerNames)],
  [12, some],
  [28, consumerAt28],
  [34, consumerAt34],
  [38, consumerAt38],
];

/** POST /allocations */
export const allocationsBody: Versioned<Schema> = [
  [13, keyed(UUID_KEY, someOrNone, { minProperties: 1 })],
  [28, keyed(UUID_KEY, consumerAt28, { minProperties: 1 })],
  [34, keyed(UUID_KEY, consumerAt34, { minProperties: 1 })],
  [38, keyed(UUID_KEY, consumerAt38, { minProperties: 1 })],
];

function reshape(consumer: Schema): Schema {
  const properties = {
    inventories: keyed(UUID_KEY, inventories, { minProperties: 1 }),
    allocations: keyed(UUID_KEY, consumer),
  };
  return exactly(properties, ['inventories', 'allocations']);
}

/** POST /reshaper */
export const reshaperBody: Versioned<Schema> = [
  [30, reshape(consumerAt28)],
  [34, reshape(consumerAt34)],
  [38, reshape(consumerAt38)],
];

/** GET /usages */
export const usagesQuery: Versioned<Schema> = [
  [9, exactly(owner, ['project_id'])],
  [38, exactly({ ...owner, consumer_type: consumerType(`${CLASS_NAME}|^all|^unknown$`) }, ['project_id'])],
];

function consumerType(pattern: string): Schema {
  return { ...text, pattern, minLength: 1, maxLength: 255 };
}

/** Like `exactly`, but reports unexpected properties before missing ones. */
function strictly(properties: Schema, required: readonly string[]): Schema {
  return { type: 'object', properties, additionalProperties: false, required };
}
