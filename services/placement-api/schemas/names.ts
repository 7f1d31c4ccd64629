import type { Schema } from '../http/validate';
import { CUSTOM_NAME, exactly, integer, shortText, text } from './parts';
import type { Versioned } from './versioned';

/** A resource class that a client may make. */
export const customClass: Schema = exactly({ name: { ...text, pattern: CUSTOM_NAME, maxLength: 255 } }, ['name']);

/** POST /resource_classes */
export const createClassBody: Versioned<Schema> = [[2, customClass]];

/** PUT /resource_classes/{name}: a new name for it before 1.7, no body since. */
export const putClassBody: Versioned<Schema | undefined> = [
  [2, customClass],
  [7, undefined],
];

/** A trait that a client may make. */
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
