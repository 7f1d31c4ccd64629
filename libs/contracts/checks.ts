import { type BerthError, invalidArgument } from '../domain/errors';
import { MAX_AMOUNT, type Resources } from '../domain/inventory';
import {
  isClassOrTraitName,
  isDefinedUuid,
  isHostName,
  isFlavorName as isOperatorsName,
  isUuid,
  requireUuid,
  requireVisibleName,
} from '../domain/names';
import { quoted } from '../domain/naming/bounded-text';
import { ruled, rulesOf } from './field-rules';
import {
  MAX_NAME_BYTES,
  MAX_NAMES,
  MAX_PROJECT_ID_BYTES,
  MAX_RESOURCE_CLASSES,
  MAX_SERVICE_HOST_BYTES,
  MAX_TEXT_BYTES,
} from './limits';
import { projectWord } from './queues';

/*
 * Checks of decoded fields. Each takes the value and the path of its field, gives the value back typed, or throws
 * `invalid_argument` with the path in `details.field`. Reasons: missing_field, too_long, too_many, malformed_uuid,
 * reserved_uuid, malformed_name, malformed_text, malformed_host, bad_amount, bad_number, unknown_value. Each carries the
 * limits that it keeps, for the schema (`field-rules.ts`); a property test compares the two.
 */

type CheckOf<T> = (value: T, field: string) => T;

/** A sentence for people; may be empty. */
export const text = textOf(MAX_TEXT_BYTES);

/** A text of so many bytes at most; may be empty. */
export function textOf(maxBytes: number) {
  return ruled({ maxBytes }, (value: string, field: string): string => boundedText(value, field, maxBytes));
}

function boundedText(value: string, field: string, maxBytes: number): string {
  // A character is at most three bytes for each of its UTF-16 units.
  if (value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) throw tooLong(field, maxBytes);
  if (LONE_SURROGATE.test(value)) throw invalidArgument('malformed_text', `${field} must be Unicode text`, field);
  return value;
}

/** Half of a surrogate pair: it could be stored and never be found again. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * An instance's project; may be empty. Of any form, because Placement's clients name projects as they like; one that is named anew
 * is a `chosenProjectId`. Its length counts as encoded in routing keys, where a dot takes three bytes.
 */
export const projectId = ruled(
  { maxBytes: MAX_PROJECT_ID_BYTES, inRoutingKey: true },
  (value: string, field: string): string => keyWord(boundedText(value, field, MAX_PROJECT_ID_BYTES), field),
);

/** A name that stands in the routing keys of events. */
export function keyWord(value: string, field: string): string {
  // A character is at most three bytes for each of its UTF-16 units, and so is what is encoded.
  if (value.length * 3 <= MAX_PROJECT_ID_BYTES || Buffer.byteLength(projectWord(value)) <= MAX_PROJECT_ID_BYTES)
    return value;
  const message = `${field} may have at most ${MAX_PROJECT_ID_BYTES} bytes, each dot and each % counted as three`;
  throw invalidArgument('too_long', message, field);
}

/** A name, an id or a symbol, as people see it (`requireVisibleName`); may be empty. */
export const name = ruled(
  { maxBytes: MAX_NAME_BYTES, format: 'visible_name' },
  (value: string, field: string): string => requireVisibleName(boundedText(value, field, MAX_NAME_BYTES), field),
);

/** A name that must be there. */
export const requiredName = nonEmpty(name);

/** A project id that must be there. */
export const requiredProjectId = nonEmpty(projectId);

/** A project for which something is made, as people see it (`requireVisibleName`). */
export const chosenProjectId = ruled(
  { ...rulesOf(requiredProjectId), format: 'visible_name' },
  (value: string, field: string): string => requireVisibleName(requiredProjectId(value, field), field),
);

export const uuid = ruled({ required: true, format: 'uuid' }, (value: string, field: string): string => {
  if (isUuid(value)) return value;
  if (value === '') throw missing(field);
  return requireUuid(value, field);
});

/** A uuid that a client has chosen for an instance: Berth's own derived ones are none that RFC 9562 defines. */
export const chosenUuid = ruled({ required: true, format: 'client_uuid' }, (value: string, field: string): string => {
  const valid = uuid(value, field);
  if (isDefinedUuid(valid)) return valid;
  const message = `${field} must be a UUID of RFC 9562 (versions 1 to 8), not '${value}': choose another`;
  throw invalidArgument('reserved_uuid', message, field);
});

/** A uuid, or '' for none. */
export const uuidOrEmpty = ruled({ format: 'uuid' }, (value: string, field: string): string =>
  value === '' ? '' : uuid(value, field),
);

/** A whole number within inclusive bounds. */
export function between(least: number, most: number) {
  return ruled({ gte: least, lte: most }, (value: number, path: string): number => {
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalidArgument('bad_number', `${path} must be from ${least} to ${most}, not ${value}`, path);
  });
}

/** The name that an operator gives a guarantee or a reservation. */
export const operatorsName = ruled({ required: true, format: 'flavor_name' }, (value: string, path: string): string => {
  if (value === '') throw missing(path);
  if (isOperatorsName(value)) return value;
  throw badName(path, value, 'at most 100 letters, digits, dots, dashes and underscores');
});

export const hostName = ruled({ required: true, format: 'host_name' }, (value: string, field: string): string => {
  if (isHostName(value)) return value;
  if (value === '') throw missing(field);
  throw invalidArgument('malformed_host', `${field} must be a host name, not '${quoted(value)}'`, field);
});

/** A host name, or '' for none. */
export const hostNameOrEmpty = ruled({ format: 'host_name' }, (value: string, field: string): string =>
  value === '' ? '' : hostName(value, field),
);

/** A host whose agent has an order queue. */
export const requiredServiceHost = ruled(
  { required: true, maxBytes: MAX_SERVICE_HOST_BYTES, format: 'host_name' },
  (value: string, field: string): string => {
    if (value.length > MAX_SERVICE_HOST_BYTES) throw tooLong(field, MAX_SERVICE_HOST_BYTES);
    return hostName(value, field);
  },
);

/** The service host that carries a host; an ordinary host, which names none, is its own. */
export const orHost = ruled(
  { format: 'host_name' },
  (value: string, field: string, { host }: { readonly host: string }): string =>
    value === '' ? host : hostName(value, field),
);

/** A count, a time or a revision: a whole number from 0 that a double holds exactly, as the schema says of all of them. */
export const whole = ruled({}, (value: number, field: string): number => {
  if (value >= 0 && Number.isSafeInteger(value)) return value;
  throw invalidArgument('bad_number', `${field} must be a whole number from 0 to 2^53 - 1, not ${value}`, field);
});

/** A number that must be there. */
export const requiredNumber = ruled({ required: true }, (value: number, field: string): number => {
  if (value === 0) throw missing(field);
  return value;
});

/** A count or a time that must be there. */
export const requiredWhole = ruled({ required: true }, (value: number, field: string): number =>
  whole(requiredNumber(value, field), field),
);

/** Traits: names of good form. */
export const traits = ruled(
  { maxItems: MAX_NAMES, items: { required: true, format: 'class_or_trait' } },
  (values: readonly string[], field: string): readonly string[] =>
    names(values, field, isClassOrTraitName, 'upper case letters, digits and underscores'),
);

/** Uuids of aggregates, instances or providers. */
export const uuids = uuidsUpTo(MAX_NAMES);

export function uuidsUpTo(max: number) {
  const rules = { maxItems: max, items: rulesOf(uuid) ?? {} };
  return ruled(rules, (values: readonly string[], field: string): readonly string[] => {
    if (values.length > max) throw tooMany(field, max);
    return values.every(isUuid) ? values : values.map((value, index) => uuid(value, `${field}[${index}]`));
  });
}

export const hostNames = ruled(
  { maxItems: MAX_NAMES, items: { required: true, format: 'host_name' } },
  (values: readonly string[], field: string): readonly string[] => names(values, field, isHostName, 'a host name'),
);

/** Amounts by resource class, each from 1 to MAX_AMOUNT. */
export const amounts = ruled(
  {
    maxPairs: MAX_RESOURCE_CLASSES,
    keys: { required: true, format: 'class_or_trait' },
    values: { gte: 1, lte: MAX_AMOUNT },
  },
  checkAmounts,
);

function checkAmounts(values: Readonly<Record<string, number>>, field: string): Resources {
  let count = 0;
  for (const resourceClass in values) {
    if (++count > MAX_RESOURCE_CLASSES) throw tooMany(field, MAX_RESOURCE_CLASSES);
    if (!isClassOrTraitName(resourceClass)) throw badName(field, resourceClass, 'a resource class');
    const amount = values[resourceClass] as number;
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > MAX_AMOUNT) {
      const message = `${field}.${resourceClass} must be a whole amount from 1 to ${MAX_AMOUNT}, not ${amount}`;
      throw invalidArgument('bad_amount', message, `${field}.${resourceClass}`);
    }
  }
  return values;
}

/** The same check, which refuses ''. */
function nonEmpty(check: CheckOf<string>): CheckOf<string> {
  return ruled({ required: true, ...rulesOf(check) }, (value: string, field: string): string => {
    if (value === '') throw missing(field);
    return check(value, field);
  });
}

export function missing(field: string): BerthError {
  return invalidArgument('missing_field', `${field} is missing; it must be set`, field);
}

function names(
  values: readonly string[],
  field: string,
  isValid: (value: string) => boolean,
  form: string,
): readonly string[] {
  if (values.length > MAX_NAMES) throw tooMany(field, MAX_NAMES);
  const index = values.findIndex((value) => !isValid(value));
  if (index >= 0) throw badName(`${field}[${index}]`, values[index] as string, form);
  return values;
}

/** A name of another form than the field's. */
export function badName(field: string, value: string, form: string): BerthError {
  return invalidArgument('malformed_name', `${field} must be ${form}, not '${quoted(value)}'`, field);
}

export function unknownValue(field: string, value: string, known: readonly string[]): BerthError {
  const message = `${field} must be one of ${known.join(', ')}, not '${quoted(value)}'`;
  return invalidArgument('unknown_value', message, field);
}

export function tooMany(field: string, max: number): BerthError {
  return invalidArgument('too_many', `${field} may have at most ${max} entries`, field);
}

export function tooLong(field: string, max: number): BerthError {
  return invalidArgument('too_long', `${field} may have at most ${max} bytes`, field);
}
