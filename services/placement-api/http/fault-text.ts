import type { ErrorObject } from 'ajv';
import type { Schema } from '../schemas/parts';

/** A fault of a value or a part of it, as in Python's jsonschema. */
export interface Fault {
  readonly message: string;
  readonly keyword: string;
  /** The schema with the keyword, and the value that it was applied to. */
  readonly schema: Schema;
  readonly value: unknown;
  readonly path: readonly string[];
  readonly schemaPath: readonly string[];
  /** For an `anyOf`: why none of its schemas holds. */
  readonly reasons: readonly Fault[];
}

/** Longer values and schemas are cut in texts. */
const MAX_SHOWN = 5_000;

/** Each level of nesting counts as this many characters, so that the limit is reached before the stack's. */
const CHARACTERS_OF_LEVEL = 10;

/** jsonschema's messages by keyword; `{limit}` is the keyword's value in the schema. */
const WORDS: Readonly<Record<string, string>> = {
  type: 'is not of type {limit}',
  enum: 'is not one of {limit}',
  minimum: 'is less than the minimum of {limit}',
  maximum: 'is greater than the maximum of {limit}',
  minLength: 'is too short',
  minItems: 'is too short',
  maxLength: 'is too long',
  pattern: 'does not match {limit}',
  format: 'is not a {limit}',
  uniqueItems: 'has non-unique elements',
  minProperties: 'does not have enough properties',
  anyOf: 'is not valid under any of the given schemas',
};

/** An error of ajv in jsonschema's words. */
export function messageOf(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const { keyword, params, data, schema } = error;
  if (keyword === 'required') return `${repr(params['missingProperty'])} is a required property`;
  if (keyword === 'additionalProperties') return strangersMessage(error, errors);
  const limit =
    keyword === 'type'
      ? [schema]
          .flat()
          .map((one) => repr(one))
          .join(', ')
      : repr(schema);
  const words = WORDS[keyword] ?? error.message ?? 'is not valid';
  return `${shown(data)} ${words.replace('{limit}', () => limit)}`;
}

function strangersMessage({ instancePath, parentSchema }: ErrorObject, errors: readonly ErrorObject[]): string {
  const strangers = errors
    .filter((error) => error.keyword === 'additionalProperties' && error.instancePath === instancePath)
    .map(({ params }) => String(params['additionalProperty']));
  const [names, isOne] = [listed(strangers), strangers.length === 1];
  const patterns = parentSchema?.['patternProperties'] as object | undefined;
  return patterns === undefined
    ? `Additional properties are not allowed (${names} ${isOne ? 'was' : 'were'} unexpected)`
    : `${names} ${isOne ? 'does' : 'do'} not match any of the regexes: ${listed(Object.keys(patterns))}`;
}

/** A fault in jsonschema's words: message, schema and value. */
export function textOf({ message, keyword, schema, value, path, schemaPath }: Fault): string {
  return [
    message,
    `Failed validating ${repr(keyword)} in schema${indexesOf(schemaPath.slice(0, -1))}:\n    ${shown(schema)}`,
    `On instance${indexesOf(path)}:\n    ${shown(value)}`,
  ].join('\n\n');
}

/** A path in Python's notation: `['a'][0]`. */
function indexesOf(path: readonly string[]): string {
  return path.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `[${repr(step)}]`)).join('');
}

function listed(names: readonly string[]): string {
  return cut(
    names
      .toSorted()
      .map((name) => repr(name))
      .join(', '),
  );
}

function shown(value: unknown): string {
  return cut(repr(value, MAX_SHOWN));
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

/**
 * A JSON value in Python's notation, because clients compare error texts with Placement's.
 *
 * @param enough  number of characters needed; the rest is left out
 */
export function repr(value: unknown, enough = Infinity): string {
  if (typeof value === 'string') return quoted(value.length > enough ? value.slice(0, enough) : value);
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (enough <= 0) return '...';
  const isList = Array.isArray(value);
  const parts: string[] = [];
  let length = 0;
  for (const [key, inner] of Object.entries(value)) {
    if (length > enough) break;
    const text = repr(inner, enough - length - CHARACTERS_OF_LEVEL);
    const part = isList ? text : `${repr(key, enough - length)}: ${text}`;
    length += part.length + 2;
    parts.push(part);
  }
  return isList ? `[${parts.join(', ')}]` : `{${parts.join(', ')}}`;
}

function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  return text.includes("'") && !text.includes('"') ? `"${escaped}"` : `'${escaped.replaceAll("'", "\\'")}'`;
}
