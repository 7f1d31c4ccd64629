import { Ajv, type ErrorObject } from 'ajv';
import type { Schema } from '../schemas/parts';
import { type Fault, messageOf, textOf } from './fault-text';
import { isUuidLike } from './uuid';

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  formats: { uuid: isUuidLike },
});
/**
 * Why a value does not match a schema; undefined when it does. Of several faults it is the one that Python's jsonschema
 * picks, in its words, because clients and their tests search the text.
 */
export function whyInvalid(value: unknown, schema: Schema): string | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  const [worst] = faultsIn(firstOfEach(validate.errors ?? []), schema).toSorted(byRelevance);
  return worst && textOf(reasonOf(worst));
}

/**
 * The errors of each kind for the first value that has them. Only one of thousands of wrong values is reported, the
 * first of the most relevant kind, and evaluating the others would take quadratic time.
 */
function firstOfEach(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const firsts = new Map<string, string>();
  const kept = errors.filter(({ schemaPath, instancePath }) => {
    const kind = `${instancePath.split('/').length} ${schemaPath}`;
    const first = firsts.get(kind) ?? instancePath;
    firsts.set(kind, first);
    return first === instancePath;
  });
  const choicePaths = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => schemaPath));
  const choices = kept.filter(({ keyword }) => keyword === 'anyOf');
  // Errors below a choice belong to it.
  const isBelowChoice = (error: ErrorObject) =>
    [...choicePaths].some((schemaPath) => error.schemaPath.startsWith(`${schemaPath}/`));
  return kept.filter((error) => !isBelowChoice(error) || choices.some((choice) => isWithin(error, choice)));
}

/** Nearest to the root first; at the same depth `anyOf` last; then wrong types first. */
function byRelevance(a: Fault, b: Fault): number {
  const isChoice = ({ keyword }: Fault) => Number(keyword === 'anyOf');
  const isOfType = ({ keyword, schema }: Fault) => Number(schema['type'] !== undefined && keyword !== 'type');
  return a.path.length - b.path.length || isChoice(a) - isChoice(b) || isOfType(a) - isOfType(b);
}

/** An `anyOf` is reported by the least relevant of its reasons, unless they are equally relevant. */
function reasonOf(fault: Fault): Fault {
  const [least, next] = fault.reasons.toSorted((a, b) => byRelevance(b, a));
  return least && next && byRelevance(least, next) !== 0 ? reasonOf(least) : fault;
}

/** ajv's errors as faults, in the order of the schema's keywords; paths begin at the given schema. */
function faultsIn(errors: readonly ErrorObject[], schema: unknown, at = { path: 0, schemaPath: 0 }): Fault[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isReason = (error: ErrorObject) => choices.some((choice) => isWithin(error, choice));
  const seen = new Set<string>();
  const faults = errors
    .filter((error) => !isReason(error))
    // ajv reports each unexpected name as an error: together they are one fault.
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

/** The position of a keyword in a schema: the index of each step among its siblings. */
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

/** The steps of a JSON pointer or of a schema's path. */
function stepsOf(pointer: string): string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
