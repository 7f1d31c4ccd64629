import { amount, CLASS_NAME, exactly, integer, type Schema, text, type Versioned } from './parts';

/** The largest single-precision float of SQL. */
const MAX_RATIO = 3.402_82e38;

const fields: Schema = {
  resource_provider_generation: integer,
  total: amount(1),
  reserved: amount(0),
  min_unit: amount(1),
  max_unit: amount(1),
  step_size: amount(1),
  allocation_ratio: { type: 'number', maximum: MAX_RATIO },
};

/** PUT /resource_providers/{uuid}/inventories/{resource_class} */
export const inventoryBody: Versioned<Schema> = [[0, exactly(fields, ['total', 'resource_provider_generation'])]];

/** POST /resource_providers/{uuid}/inventories */
export const newInventoryBody: Versioned<Schema> = [
  [0, exactly({ ...fields, resource_class: { ...text, pattern: CLASS_NAME } }, ['total', 'resource_class'])],
];

const oneOfMany = exactly(fields, ['total']);

/** All inventories of a provider. Like in Placement, class names are checked later; the values under any name, here. */
export const inventories: Schema = exactly(
  {
    resource_provider_generation: integer,
    inventories: {
      type: 'object',
      patternProperties: { [CLASS_NAME]: oneOfMany },
      additionalProperties: oneOfMany,
    },
  },
  ['resource_provider_generation', 'inventories'],
);

/** PUT /resource_providers/{uuid}/inventories */
export const inventoriesBody: Versioned<Schema> = [[0, inventories]];
