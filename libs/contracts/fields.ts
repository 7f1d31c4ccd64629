import { badName, missing, name, tooLong, tooMany, unknownValue } from './checks';
import type { EncodedRequestSpec } from './codec';
import {
  asItIs,
  type Check,
  type Conversion,
  conversionOf,
  type Field,
  type MayBeLeftOut,
  type Renamed,
  type StaysEncoded,
} from './field';
import { type FieldRules, itemRules, NO_RULES, ruled, rulesOf, SET, unrequired } from './field-rules';
import { MAX_NAME_BYTES, MAX_PAIRS } from './limits';

/*
 * Kinds of fields for the tables that `message()` takes, besides the checks of `checks.ts`.
 */

/** Bounded by its type in the schema alone. */
export const flag: Check<boolean, boolean> = asItIs;
/** A number that its type in the schema alone bounds. */
export const count: Check<number, number> = asItIs;
/** Not checked here: for who checks it later, or wrote it itself. */
export const anyText: Check<string, string> = asItIs;
/** Travels as it is: who takes the message checks it, and says the path of what is wrong. */
export function checkedLater<T, W>(field: Field<T, W>): Conversion<W, W> {
  return ruled(rulesOf(field) ?? NO_RULES, { fromWire: asItIs<W> });
}
/** Any value of a type, as the schema alone bounds it. */
export const unchecked = <T>(): Check<T, T> => asItIs;

/** Undefined for what the sender left out, or which is '', 0, false or empty; of the plain data it may be left out. */
export function optional<T, W>(field: Field<T, W>): Conversion<T | undefined, W | null | undefined> & MayBeLeftOut {
  return { ...orUndefined(field), mayBeLeftOut: true };
}

/** The same, which plain data always names. */
export function orUndefined<T, W>(field: Field<T, W>): Conversion<T | undefined, W | null | undefined> {
  const { fromWire, toWire } = conversionOf(field);
  return ruled(unrequired(field), {
    fromWire: (value: W | null | undefined, path: string, message: unknown) =>
      isUnset(value) ? undefined : fromWire(value as W, path, message),
    toWire:
      toWire &&
      ((value: T | undefined, message: unknown) => (value === undefined ? undefined : toWire(value, message))),
  });
}

/** A field that tells '' or 0 from what was left out (`optional` in the schema). */
export function present<T, W>(field: Field<T, W>): Conversion<T | undefined, W | null | undefined> {
  const { fromWire, toWire } = conversionOf(field);
  return ruled(unrequired(field), {
    fromWire: (value: W | null | undefined, path: string, message: unknown) =>
      value == null ? undefined : fromWire(value, path, message),
    toWire:
      toWire &&
      ((value: T | undefined, message: unknown) => (value === undefined ? undefined : toWire(value, message))),
  });
}

/** A field that the sender may leave out: it reads as '', 0, false or empty then. */
export function omittable<T, W>(field: Field<T, W>): Conversion<T, W> & MayBeLeftOut {
  const { fromWire, toWire } = conversionOf(field);
  const leftOut =
    toWire && ((value: T, message: unknown) => (value === undefined ? undefined : toWire(value, message)));
  return ruled(rulesOf(field) ?? NO_RULES, { fromWire, toWire: leftOut, mayBeLeftOut: true });
}

/** An embedded message that must be there. */
export function required<T, W>(field: Field<T, W>): Conversion<T, W | null | undefined> {
  const { fromWire, toWire } = conversionOf(field);
  return ruled(SET, {
    fromWire(value: W | null | undefined, path: string, message: unknown) {
      if (value === null || value === undefined) throw missing(path);
      return fromWire(value, path, message);
    },
    toWire,
  });
}

/** A text that may be empty, or what the check takes. */
export function orEmpty(check: Check<string, string>): Check<string, string> {
  return ruled(unrequired(check), (value: string, path: string, message: unknown) =>
    value === '' ? '' : check(value, path, message),
  );
}

/** At most `max` of what the field is, in their order. */
export function list<T, W>(of: Field<T, W>, max: number): Conversion<readonly T[], readonly W[]> {
  const { fromWire, toWire } = conversionOf(of);
  const maxItems = max === Infinity ? {} : { maxItems: max };
  return ruled(
    { ...maxItems, items: itemRules(of) },
    {
      fromWire(values: readonly W[], path: string, message: unknown) {
        if (values.length > max) throw tooMany(path, max);
        return values.map((value, index) => fromWire(value, `${path}[${index}]`, message));
      },
      toWire: toWire && ((values: readonly T[], message: unknown) => values.map((value) => toWire(value, message))),
    },
  );
}

/** A list that must not be empty. */
export function requiredList<T, W>(of: Field<T, W>, max: number): Conversion<readonly T[], readonly W[]> {
  const all = list(of, max);
  const { fromWire, toWire } = all;
  return ruled(
    { required: true, ...rulesOf(all) },
    {
      fromWire(values: readonly W[], path: string, message: unknown) {
        if (values.length === 0) throw missing(path);
        return fromWire(values, path, message);
      },
      toWire,
    },
  );
}

/** A map with names as keys. */
export function map<T, W>(
  of: Field<T, W>,
): Conversion<Readonly<Record<string, T>>, Readonly<Record<string, W>> | null | undefined> {
  const { fromWire, toWire } = conversionOf(of);
  type Values = Readonly<Record<string, W>> | null | undefined;
  return ruled(mapRules(of), {
    fromWire(values: Values, path: string, message: unknown) {
      const keys = Object.keys(values ?? NO_RULES);
      if (keys.length > MAX_PAIRS) throw tooMany(path, MAX_PAIRS);
      const checked: Record<string, T> = {};
      for (const key of keys) {
        // A key that names an object's prototype would vanish instead of being stored.
        if (key === '' || key === '__proto__') throw badName(path, key, 'a key');
        checked[name(key, path)] = fromWire(values?.[key] as W, `${path}.${key}`, message);
      }
      return checked;
    },
    toWire:
      toWire &&
      ((values: Readonly<Record<string, T>>, message: unknown) => mapValues(values, (value) => toWire(value, message))),
  });
}

function mapRules(of: object): FieldRules {
  const keys = { required: true, maxBytes: MAX_NAME_BYTES, format: 'visible_name' } as const;
  return { maxPairs: MAX_PAIRS, keys, values: itemRules(of) };
}

/** A map with any keys, not bounded here. */
export function anyMap<T, W>(
  of: Conversion<T, W>,
): Conversion<Readonly<Record<string, T>>, Readonly<Record<string, W>>> {
  const { fromWire, toWire } = of;
  return ruled(
    { values: itemRules(of) },
    {
      fromWire: (values: Readonly<Record<string, W>>, path: string, message: unknown) =>
        mapValues(values, (value) => fromWire(value, path, message)),
      toWire:
        toWire &&
        ((values: Readonly<Record<string, T>>, message: unknown) =>
          mapValues(values, (value) => toWire(value, message))),
    },
  );
}

/** A map with each value changed. By entries: clients choose keys as they like, `__proto__` too. */
export function mapValues<V, W>(values: Readonly<Record<string, V>>, change: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

/** A word of a closed set that travels as text. */
export function oneOf<const T extends string>(words: readonly T[]) {
  return ruled({ required: true, in: words }, (value: string, path: string): T => {
    const known = words.find((one) => one === value);
    if (known === undefined) throw unknownValue(path, value, words);
    return known;
  });
}

/** The words of a generated enum: `INSTANCE_STATE_ACTIVE` is `active`. */
type WordOf<E, P extends string> = keyof E extends infer K
  ? K extends `${P}_${infer W}`
    ? W extends 'UNSPECIFIED'
      ? never
      : Lowercase<W>
    : never
  : never;

/** A closed set of words that travels as numbers. */
export interface Enumeration<T extends string> extends Conversion<T, number> {
  readonly words: readonly T[];
}

/**
 * The words of an enum of the schema, lower case and without their prefix; its number 0 stands for none of them.
 *
 * @param otherwise  what numbers that are none of them read as; they are refused when not given
 */
export function enumOf<const E extends object, P extends string>(
  numbers: E,
  prefix: P,
  otherwise?: WordOf<E, P>,
): Enumeration<WordOf<E, P>> {
  const named = Object.entries(numbers as Record<string, number>).filter(([, number]) => number !== 0);
  const words = named.map(([long, number]) => [long.slice(prefix.length + 1).toLowerCase(), number] as const);
  return enumBy(Object.fromEntries(words) as Record<WordOf<E, P>, number>, otherwise);
}

/** The words of an enum, where they are others than the schema's. */
export function enumBy<T extends string>(numbers: Readonly<Record<T, number>>, otherwise?: T): Enumeration<T> {
  const words = Object.keys(numbers) as T[];
  const byNumber: (T | undefined)[] = [];
  for (const word of words) byNumber[numbers[word]] = word;
  return ruled((byNumber[0] ?? otherwise) === undefined ? SET : NO_RULES, {
    words,
    fromWire(number: number, path: string) {
      const value = byNumber[number] ?? otherwise;
      if (value === undefined) throw unknownValue(path, String(number), words);
      return value;
    },
    toWire: (value: T) => numbers[value],
  });
}

/** At most so many bytes. */
export function bytes(max: number) {
  return ruled({ maxBytes: max }, (value: Uint8Array, path: string): Uint8Array => {
    if (value.length > max) throw tooLong(path, max);
    return value;
  });
}

/** A limit of rows: `whenZero` when the sender did not say. */
export function pageLimit(whenZero: number, max: number) {
  return ruled({ lte: max }, (value: number, path: string): number => {
    if (value > max) throw tooMany(path, max);
    return value === 0 ? whenZero : value;
  });
}

/** A field of another name as plain data. */
export function renamed<const N extends string, T, W>(plainName: N, field: Field<T, W>): Conversion<T, W> & Renamed<N> {
  return ruled(rulesOf(field) ?? NO_RULES, { ...conversionOf(field), plainName });
}

/** A request spec that stays encoded, as field `fieldNumber`: those who only pass it on need not read it. */
export function encodedSpec(fieldNumber: number): Conversion<EncodedRequestSpec, unknown> & StaysEncoded {
  return ruled(SET, {
    fieldNumber,
    fromWire(value: unknown, path: string) {
      if (value === undefined || value === null) throw missing(path);
      return value as EncodedRequestSpec;
    },
  });
}

/** The values of a `StringList`. */
export function listed<T extends readonly string[]>(
  check: Check<T, readonly string[]>,
): Conversion<T, { readonly values?: string[] | null }> {
  return ruled(rulesOf(check) ?? NO_RULES, {
    fromWire: (value: { readonly values?: string[] | null }, path: string, message: unknown) =>
      check(value.values ?? [], path, message),
    toWire: (values: T) => ({ values }),
  });
}

function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  return typeof value === 'object' && (value as { length?: unknown }).length === 0;
}
