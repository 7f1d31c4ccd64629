import { CUSTOM_NAME, exactly, integer, type Schema, shortText, text, type Versioned } from './parts';

/** The name of a custom resource class. */
export const customClass: Schema = exactly({ name: { ...text, pattern: CUSTOM_NAME, maxLength: 255 } }, ['name']);

/** POST /resource_classes */
export const createClassBody: Versioned<Schema> = [[2, customClass]];

/** PUT /resource_classes/{name}: the new name before 1.7, no body since. */
export const putClassBody: Versioned<Schema | undefined> = [
  [2, customClass],
  [7, undefined],
];

/** The name of a custom trait. */
export const customTrait: Schema = { ...shortText, pattern: CUSTOM_NAME };

/** GET /traits */
export const listTraitsQuery: Versioned<Schema> = [[6, exactly({ name: text, associated: text })]];

/** PUT /resource_providers/{uuid}/traits */
export const providerTraitsBody: Versioned<Schema> = [
  [
    6,
    exactly({ traits: { type: 'array', items: shortText }, resource_provider_generation: integer }, [
      'traits',
      'resource_provider_generation',
    ]),
  ],
];
