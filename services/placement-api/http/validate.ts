import { Ajv, type ErrorObject } from 'ajv';
import { repr } from './repr';
import { isUuidLike } from './uuid';

/** A JSON schema (draft 7) as data. Of several faults in a value, the order of its keys says which one is told. */
export type Schema = Readonly<Record<string, unknown>>;

/** Something wrong with a value or a part of it, as Python's jsonschema sees it. */
interface Fault {
  readonly message: string;
  readonly keyword: string;
  /** What the keyword stands in, and what it was held against. */
  readonly schema: Schema;
  readonly value: unknown;
  readonly path: readonly string[];
  readonly schemaPath: readonly string[];
  /** Of a choice: why none of it holds. */
  readonly reasons: readonly Fault[];
}

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  formats: { uuid: isUuidLike },
});
/** The longest value or schema that is shown in a text; whoever sends a megabyte knows what it was. */
const MAX_SHOWN = 5_000;

/**
 * Why a value does not meet a schema, undefined when it does: one fault, chosen and told as by Python's jsonschema,
 * because clients and their tests search in the text.
 */
export function whyInvalid(value: unknown, schema: Schema): string | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  const [worst] = faultsIn(validate.errors ?? [], schema).toSorted(byRelevance);
  return worst && textOf(reasonOf(worst));
}

/** Nearest to the root first; as near, choices last; then wrong types first. */
function byRelevance(a: Fault, b: Fault): number {
  const isChoice = ({ keyword }: Fault) => Number(keyword === 'anyOf');
  const isOfType = ({ keyword, schema }: Fault) => Number(schema['type'] !== undefined && keyword !== 'type');
  return a.path.length - b.path.length || isChoice(a) - isChoice(b) || isOfType(a) - isOfType(b);
}

/** A choice is told by the least relevant of its reasons, unless they weigh the same. */
function reasonOf(fault: Fault): Fault {
  const [least, next] = fault.reasons.toSorted((a, b) => byRelevance(b, a));
  return least && next && byRelevance(least, next) !== 0 ? reasonOf(least) : fault;
}

/** The faults that errors stand for, in the order in which the schema has them; paths begin at the schema given. */
function faultsIn(errors: readonly ErrorObject[], schema: unknown, at = { path: 0, schemaPath: 0 }): Fault[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isReason = (error: ErrorObject) => choices.some((choice) => isWithin(error, choice));
  const seen = new Set<string>();
  const faults = errors
    .filter((error) => !isReason(error))
    // One error for each name that is too much: together they are one fault.
    .filter((error) => error.keyword !== 'additionalProperties' || isNew(seen, error.instancePath))
    .map((error): Fault => {
      const path = stepsOf(error.instancePath);
      const schemaPath = stepsOf(decodeURIComponent(error.schemaPath));
      const inner = errors.filter((other) => error.keyword === 'anyOf' && isWithin(other, error));
      const start = { path: path.length, schemaPath: schemaPath.length };
      return {
        message: messageOf(error, errors),
        keyword: error.keyword,
        schema: error.parentSchema ?? {},
        value: error.data,
        path: path.slice(at.path),
        schemaPath: schemaPath.slice(at.schemaPath),
        reasons: inner.length > 0 ? faultsIn(inner, error.schema, start) : [],
      };
    });
  return faults.toSorted((a, b) => compare(placeOf(a.schemaPath, schema), placeOf(b.schemaPath, schema)));
}

function isWithin(error: ErrorObject, choice: ErrorObject): boolean {
  return (
    error.schemaPath.startsWith(`${choice.schemaPath}/`) &&
    `${error.instancePath}/`.startsWith(`${choice.instancePath}/`)
  );
}

/** Where a keyword stands in a schema: the position of each step among its siblings. */
function placeOf(schemaPath: readonly string[], schema: unknown): number[] {
  let at = schema;
  return schemaPath.map((step) => {
    const siblings = typeof at === 'object' && at !== null ? at : {};
    at = (siblings as Record<string, unknown>)[step];
    return Object.keys(siblings).indexOf(step);
  });
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [i, place] of a.entries()) if (place !== b[i]) return place - (b[i] ?? -1);
  return a.length - b.length;
}

function isNew(seen: Set<string>, key: string): boolean {
  return seen.size !== seen.add(key).size;
}

/** A JSON pointer, or a schema's path, in its steps. */
function stepsOf(pointer: string): string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function messageOf(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const { keyword, params, data, schema } = error;
  const [value, limit] = [shown(data), repr(schema)];
  switch (keyword) {
    case 'required':
      return `${repr(params['missingProperty'])} is a required property`;
    case 'additionalProperties':
      return strangersMessage(error, errors);
    case 'type':
      return `${value} is not of type ${[schema].flat().map(repr).join(', ')}`;
    case 'enum':
      return `${value} is not one of ${limit}`;
    case 'minimum':
      return `${value} is less than the minimum of ${limit}`;
    case 'maximum':
      return `${value} is greater than the maximum of ${limit}`;
    case 'minLength':
    case 'minItems':
      return `${value} is too short`;
    case 'maxLength':
      return `${value} is too long`;
    case 'pattern':
      return `${value} does not match ${limit}`;
    case 'format':
      return `${value} is not a ${limit}`;
    case 'uniqueItems':
      return `${value} has non-unique elements`;
    case 'minProperties':
      return `${value} does not have enough properties`;
    case 'anyOf':
      return `${value} is not valid under any of the given schemas`;
    default:
      return `${value} ${error.message ?? 'is not valid'}`;
  }
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

function textOf({ message, keyword, schema, value, path, schemaPath }: Fault): string {
  return [
    message,
    `Failed validating ${repr(keyword)} in schema${indexesOf(schemaPath.slice(0, -1))}:\n    ${shown(schema)}`,
    `On instance${indexesOf(path)}:\n    ${shown(value)}`,
  ].join('\n\n');
}

/** A path as Python shows it: `['a'][0]`. */
function indexesOf(path: readonly string[]): string {
  return path.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `[${repr(step)}]`)).join('');
}

function listed(names: readonly string[]): string {
  return names.toSorted().map(repr).join(', ');
}

function shown(value: unknown): string {
  const text = repr(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}
