import { MAX_AMOUNT } from '#libs/domain/inventory';
import { VISIBLE_NAME_PATTERN } from '#libs/domain/names';
import type { Microversion } from '../http/microversion';

/** A JSON schema (draft 7) as data. Of several faults, the order of its keys decides which one is reported. */
export type Schema = Readonly<Record<string, unknown>>;

/* Common parts of the schemas. Patterns are those of Placement's `schemas/common.py`. */

export const CLASS_NAME = '^[A-Z0-9_]+$';
export const CUSTOM_NAME = '^CUSTOM_[A-Z0-9_]+$';
/** For keys of answers, which clients have chosen. */
export const anyText = '^';
export const UUID_KEY = '^[0-9a-fA-F-]{36}$';
export const NUMBERED_GROUP = '[1-9][0-9]*';
export const NAMED_GROUP = '[a-zA-Z0-9_-]{1,64}';

export const uuid: Schema = { type: 'string', format: 'uuid' };
export const integer: Schema = { type: 'integer' };
/** A whole number that JSON carries exactly. */
export const exactInteger: Schema = {
  ...integer,
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
export const text: Schema = { type: 'string' };
export const shortText: Schema = { type: 'string', minLength: 1, maxLength: 255 };
/** A name without spaces at its ends and control characters (`requireVisibleName`). */
export const visibleName: Schema = { ...shortText, pattern: VISIBLE_NAME_PATTERN };

/** A whole amount from `minimum` to Placement's maximum. */
export function amount(minimum: number): Schema {
  return { type: 'integer', maximum: MAX_AMOUNT, minimum };
}

/** An object with these properties and no others. */
export function exactly(properties: Schema, required: readonly string[] = [], rest: Schema = {}): Schema {
  return { type: 'object', properties, required, additionalProperties: false, ...rest };
}

/** An object with all of these properties and no others. */
export function whole(properties: Schema): Schema {
  return exactly(properties, Object.keys(properties));
}

export function list(items: Schema): Schema {
  return { type: 'array', items };
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** An object whose keys all match a pattern. */
export function keyed(pattern: string, value: Schema, rest: Schema = {}): Schema {
  return { type: 'object', patternProperties: { [pattern]: value }, additionalProperties: false, ...rest };
}

/** Values by the microversion that introduced them, oldest first. */
export type Versioned<T> = readonly (readonly [since: Microversion, value: T])[];

/** The value at a microversion; undefined before the first. */
export function at<T>(versioned: Versioned<T> | undefined, version: Microversion): T | undefined {
  return versioned?.findLast(([since]) => since <= version)?.[1];
}
