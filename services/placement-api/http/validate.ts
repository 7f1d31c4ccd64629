import { isUuidLike } from './uuid';

/** A JSON schema as data, of the keywords that `faultsOf` knows. Fault is found in the order of its keys. */
export type Schema = Readonly<Record<string, unknown>>;

/** Something wrong with a value or a part of it. */
interface Fault {
  readonly message: string;
  readonly keyword: string;
  /** What the keyword stands in, and what it was held against. */
  readonly schema: Schema;
  readonly value: unknown;
  readonly path: Path;
  readonly schemaPath: Path;
  /** Of a choice: why none of it holds. */
  readonly reasons: readonly Fault[];
}

type Path = readonly (string | number)[];
type Schemas = Readonly<Record<string, Schema>>;

/**
 * Why a value does not meet a schema, undefined when it does: one fault, chosen and told as by Python's jsonschema,
 * because clients and their tests search in the text.
 */
export function whyInvalid(value: unknown, schema: Schema): string | undefined {
  let worst: Fault | undefined;
  for (const fault of faultsOf(value, schema)) if (!worst || byRelevance(fault, worst) < 0) worst = fault;
  return worst && textOf(reasonOf(worst));
}

/** Nearest to the root first; as near, choices last; then wrong types first. */
function byRelevance(a: Fault, b: Fault): number {
  const isChoice = ({ keyword }: Fault) => Number(keyword === 'anyOf');
  const isOfType = ({ value, schema }: Fault) => Number(schema['type'] !== undefined && hasType(value, schema['type']));
  return a.path.length - b.path.length || isChoice(a) - isChoice(b) || isOfType(a) - isOfType(b);
}

/** A choice is told by the least relevant of its reasons, unless they weigh the same. */
function reasonOf(fault: Fault): Fault {
  const [least, next] = fault.reasons.toSorted((a, b) => byRelevance(b, a));
  return least && next && byRelevance(least, next) !== 0 ? reasonOf(least) : fault;
}

function* faultsOf(value: unknown, schema: Schema, path: Path = [], schemaPath: Path = []): Generator<Fault> {
  const object = hasType(value, 'object') ? (value as Record<string, unknown>) : {};
  for (const [keyword, limit] of Object.entries(schema)) {
    const here = [...schemaPath, keyword];
    const fault = (message: string, reasons: readonly Fault[] = []): Fault => {
      return { message, keyword, schema, value, path, schemaPath: here, reasons };
    };
    switch (keyword) {
      case 'properties':
        for (const [name, inner] of Object.entries(limit as Schemas)) {
          if (Object.hasOwn(object, name)) yield* faultsOf(object[name], inner, [...path, name], [...here, name]);
        }
        break;
      case 'patternProperties':
        for (const [pattern, inner] of Object.entries(limit as Schemas)) {
          for (const [name, part] of Object.entries(object)) {
            if (matches(name, pattern)) yield* faultsOf(part, inner, [...path, name], [...here, pattern]);
          }
        }
        break;
      case 'items':
        for (const [i, part] of (Array.isArray(value) ? value : []).entries()) {
          yield* faultsOf(part, limit as Schema, [...path, i], here);
        }
        break;
      case 'required':
        if (!hasType(value, 'object')) break;
        for (const name of limit as string[]) {
          if (!Object.hasOwn(object, name)) yield fault(`${repr(name)} is a required property`);
        }
        break;
      case 'anyOf': {
        const choices = (limit as Schema[]).map((choice, i) => [...faultsOf(value, choice, [], [i])]);
        const isNone = choices.every((faults) => faults.length > 0);
        if (isNone) yield fault(`${repr(value)} is not valid under any of the given schemas`, choices.flat());
        break;
      }
      default: {
        const message = messageOf(keyword, value, limit, schema);
        if (message !== undefined) yield fault(message);
      }
    }
  }
}

/** What is wrong with a value by a keyword that does not look into its parts. */
function messageOf(keyword: string, value: unknown, limit: unknown, schema: Schema): string | undefined {
  const fails = (isWrong: boolean, what: string) => (isWrong ? `${repr(value)} ${what}` : undefined);
  const bound = limit as number;
  switch (keyword) {
    case 'type':
      return fails(!hasType(value, limit), `is not of type ${[limit].flat().map(repr).join(', ')}`);
    case 'enum':
      return fails(!(limit as unknown[]).includes(value), `is not one of ${repr(limit)}`);
    case 'minimum':
      return fails(typeof value === 'number' && value < bound, `is less than the minimum of ${repr(limit)}`);
    case 'maximum':
      return fails(typeof value === 'number' && value > bound, `is greater than the maximum of ${repr(limit)}`);
    case 'minLength':
      return fails(typeof value === 'string' && Array.from(value).length < bound, 'is too short');
    case 'maxLength':
      return fails(typeof value === 'string' && Array.from(value).length > bound, 'is too long');
    case 'pattern':
      return fails(typeof value === 'string' && !matches(value, limit as string), `does not match ${repr(limit)}`);
    case 'format':
      return fails(typeof value === 'string' && !isUuidLike(value), `is not a ${repr(limit)}`);
    case 'minItems':
      return fails(Array.isArray(value) && value.length < bound, 'is too short');
    case 'uniqueItems':
      return fails(Array.isArray(value) && new Set(value).size < value.length, 'has non-unique elements');
    case 'minProperties': {
      const isWrong = hasType(value, 'object') && Object.keys(value as object).length < bound;
      return fails(isWrong, 'does not have enough properties');
    }
    case 'additionalProperties':
      return hasType(value, 'object') ? strangersIn(value as object, schema) : undefined;
    default:
      throw new TypeError(`no such keyword of a schema: ${keyword}`);
  }
}

function strangersIn(value: object, { properties = {}, patternProperties }: Schema): string | undefined {
  const patterns = Object.keys(patternProperties ?? {});
  const isKnown = (name: string) => Object.hasOwn(properties as object, name) || patterns.some((p) => matches(name, p));
  const strangers = Object.keys(value).filter((name) => !isKnown(name));
  if (strangers.length === 0) return undefined;
  const [names, isOne] = [listed(strangers), strangers.length === 1];
  return patternProperties === undefined
    ? `Additional properties are not allowed (${names} ${isOne ? 'was' : 'were'} unexpected)`
    : `${names} ${isOne ? 'does' : 'do'} not match any of the regexes: ${listed(patterns)}`;
}

function hasType(value: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((one) => hasType(value, one));
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  return typeof value === type && value !== null && !Array.isArray(value);
}

const expressions = new Map<string, RegExp>();

function matches(text: string, pattern: string): boolean {
  let expression = expressions.get(pattern);
  if (!expression) expressions.set(pattern, (expression = new RegExp(pattern, 'u')));
  return expression.test(text);
}

function textOf({ message, keyword, schema, value, path, schemaPath }: Fault): string {
  return [
    message,
    `Failed validating ${repr(keyword)} in schema${indexesOf(schemaPath.slice(0, -1))}:\n    ${repr(schema)}`,
    `On instance${indexesOf(path)}:\n    ${repr(value)}`,
  ].join('\n\n');
}

/** A path as Python shows it: `['a'][0]`. */
function indexesOf(path: Path): string {
  return path.map((step) => `[${repr(step)}]`).join('');
}

function listed(names: readonly string[]): string {
  return names.toSorted().map(repr).join(', ');
}

/** A JSON value as Python prints it. */
function repr(value: unknown): string {
  if (typeof value === 'string') return value.includes("'") ? JSON.stringify(value) : `'${value}'`;
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value === 'number') return String(value);
  const entries = Object.entries(value).map(([key, inner]) => `${repr(key)}: ${repr(inner)}`);
  return `{${entries.join(', ')}}`;
}
