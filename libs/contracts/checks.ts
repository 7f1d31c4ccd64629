import { type BerthError, invalidArgument } from '../domain/errors';
import { MAX_AMOUNT, type Resources } from '../domain/inventory';
import { isClassOrTraitName, isDefinedUuid, isHostName, isUuid, requireUuid } from '../domain/names';
import {
  MAX_NAME_BYTES,
  MAX_NAMES,
  MAX_PAIRS,
  MAX_PROJECT_ID_BYTES,
  MAX_RESOURCE_CLASSES,
  MAX_SERVICE_HOST_BYTES,
  MAX_TEXT_BYTES,
} from './limits';
import { projectWord } from './queues';

/*
 * Checks of decoded fields. Each takes the value and the path of its field, gives the value back typed, or throws
 * `invalid_argument` with the path in `details.field`. Reasons: missing_field, too_long, too_many, malformed_uuid,
 * reserved_uuid, malformed_name, malformed_text, malformed_host, bad_amount, bad_number, unknown_value.
 */

/** A sentence for people; may be empty. */
export function text(value: string, field: string, maxBytes = MAX_TEXT_BYTES): string {
  // A character is at most three bytes for each of its UTF-16 units.
  if (value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) throw tooLong(field, maxBytes);
  if (LONE_SURROGATE.test(value)) throw invalidArgument('malformed_text', `${field} must be Unicode text`, field);
  return value;
}

/** Half of a surrogate pair: it could be stored and never be found again. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whose an instance is; may be empty. It is counted as it stands in routing keys, where a dot takes three bytes. */
export function projectId(value: string, field: string): string {
  return keyWord(text(value, field, MAX_PROJECT_ID_BYTES), field);
}

/** A name that stands in the routing keys of events. */
export function keyWord(value: string, field: string): string {
  // A character is at most three bytes for each of its UTF-16 units, and so is what is encoded.
  if (value.length * 3 <= MAX_PROJECT_ID_BYTES || Buffer.byteLength(projectWord(value)) <= MAX_PROJECT_ID_BYTES)
    return value;
  const message = `${field} may have at most ${MAX_PROJECT_ID_BYTES} bytes, each dot and each % counted as three`;
  throw invalidArgument('too_long', message, field);
}

/** A name, an id or a symbol; may be empty. */
export function name(value: string, field: string): string {
  return text(value, field, MAX_NAME_BYTES);
}

/** A name that must be there. */
export function requiredName(value: string, field: string): string {
  if (value === '') throw missing(field);
  return name(value, field);
}

/** A project id that must be there. */
export function requiredProjectId(value: string, field: string): string {
  if (value === '') throw missing(field);
  return projectId(value, field);
}

/** A name, or undefined when empty. */
export function optionalName(value: string, field: string): string | undefined {
  return value === '' ? undefined : name(value, field);
}

export function uuid(value: string, field: string): string {
  if (isUuid(value)) return value;
  if (value === '') throw missing(field);
  return requireUuid(value, field);
}

/** A uuid that a client has chosen for an instance: Berth's own derived ones are none that RFC 9562 defines. */
export function chosenUuid(value: string, field: string): string {
  const valid = uuid(value, field);
  if (isDefinedUuid(valid)) return valid;
  const message = `${field} must be a UUID of RFC 9562 (versions 1 to 8), not '${value}': choose another`;
  throw invalidArgument('reserved_uuid', message, field);
}

/** A uuid, or '' for none. */
export function uuidOrEmpty(value: string, field: string): string {
  return value === '' ? '' : uuid(value, field);
}

export function hostName(value: string, field: string): string {
  if (isHostName(value)) return value;
  if (value === '') throw missing(field);
  throw invalidArgument('malformed_host', `${field} must be a host name, not '${shown(value)}'`, field);
}

/** A host name, or '' for none. */
export function hostNameOrEmpty(value: string, field: string): string {
  return value === '' ? '' : hostName(value, field);
}

/** A host whose agent has an order queue. */
export function requiredServiceHost(value: string, field: string): string {
  if (value.length > MAX_SERVICE_HOST_BYTES) throw tooLong(field, MAX_SERVICE_HOST_BYTES);
  return hostName(value, field);
}

/** The service host that carries a host; an ordinary host, which names none, is its own. */
export function serviceHostName(value: string, host: string, field: string): string {
  return value === '' ? host : hostName(value, field);
}

/** A count, a time or a revision: a whole number from 0 that a double holds exactly. */
export function whole(value: number, field: string): number {
  if (value >= 0 && Number.isSafeInteger(value)) return value;
  throw invalidArgument('bad_number', `${field} must be a whole number from 0 to 2^53 - 1, not ${value}`, field);
}

/** How many rows are wanted: `whenZero` when the sender did not say. */
export function pageLimit(value: number, field: string, whenZero: number, max: number): number {
  if (value > max) throw tooMany(field, max);
  return value === 0 ? whenZero : value;
}

export function list<W, T>(
  values: readonly W[],
  field: string,
  max: number,
  check: (value: W, field: string) => T,
): T[] {
  if (values.length > max) throw tooMany(field, max);
  return values.map((value, index) => check(value, `${field}[${index}]`));
}

/** Traits: names of good form. */
export function traits(values: readonly string[], field: string): readonly string[] {
  return names(values, field, isClassOrTraitName, 'upper case letters, digits and underscores');
}

/** Uuids of aggregates, instances or providers. */
export function uuids(values: readonly string[], field: string, max = MAX_NAMES): readonly string[] {
  if (values.length > max) throw tooMany(field, max);
  return values.every(isUuid) ? values : values.map((value, index) => uuid(value, `${field}[${index}]`));
}

export function hostNames(values: readonly string[], field: string): readonly string[] {
  return names(values, field, isHostName, 'a host name');
}

/** Amounts by resource class, each from 1 to MAX_AMOUNT. */
export function amounts(values: Readonly<Record<string, number>>, field: string): Resources {
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

/** Amounts of which there must be one at least. */
export function requiredAmounts(values: Readonly<Record<string, number>>, field: string): Resources {
  for (const _ in values) return amounts(values, field);
  throw missing(field);
}

/** A map with names as keys; `check` looks at each value. */
export function pairs<W, T>(
  values: Readonly<Record<string, W>>,
  field: string,
  check: (value: W, field: string) => T,
): Readonly<Record<string, T>> {
  const keys = Object.keys(values);
  if (keys.length > MAX_PAIRS) throw tooMany(field, MAX_PAIRS);
  const checked: Record<string, T> = {};
  for (const key of keys) {
    // A key that names an object's prototype would vanish instead of being stored.
    if (key === '' || key === '__proto__') throw badName(field, key, 'a key');
    checked[name(key, field)] = check(values[key] as W, `${field}.${key}`);
  }
  return checked;
}

/** A word of a closed set that travels as text. */
export function word<const T extends string>(value: string, words: readonly T[], field: string): T {
  const known = words.find((one) => one === value);
  if (known === undefined) throw unknownValue(field, value, words);
  return known;
}

/** The two directions between a closed set of words and an enum, whose number 0 stands for none of them. */
export function enumeration<T extends string, E extends number>(numbers: Readonly<Record<T, E>>) {
  const words: (T | undefined)[] = [];
  for (const [value, number] of Object.entries(numbers)) words[number as E] = value as T;
  return {
    toWire: (value: T): E => numbers[value],
    fromWire: (number: number, field: string): T => {
      const value = words[number];
      if (value === undefined) throw unknownValue(field, String(number), Object.keys(numbers));
      return value;
    },
  };
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
  return invalidArgument('malformed_name', `${field} must be ${form}, not '${shown(value)}'`, field);
}

function unknownValue(field: string, value: string, known: readonly string[]): BerthError {
  const message = `${field} must be one of ${known.join(', ')}, not '${shown(value)}'`;
  return invalidArgument('unknown_value', message, field);
}

export function tooMany(field: string, max: number): BerthError {
  return invalidArgument('too_many', `${field} may have at most ${max} entries`, field);
}

function tooLong(field: string, max: number): BerthError {
  return invalidArgument('too_long', `${field} may have at most ${max} bytes`, field);
}

function shown(value: string): string {
  return value.length > 64 ? `${value.slice(0, 64)}…` : value;
}
