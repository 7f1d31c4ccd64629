/*
 * Queries of Nova's JsonFilter: `["and", [">=", "$free_ram_mb", 1024], ["not", ["=", "$host", "h1"]]]`. Values compare as in Python, where
 * Nova evaluates them: true is 1, a list is true unless it is empty, and `not` answers with a list. A query comes from a user, so its size,
 * depth and terms are limited, and what Nova would fail for is a refusal.
 */

const MAX_BYTES = 8_192;
const MAX_DEPTH = 16;
const MAX_TERMS = 200;

/** A value in a query; lists are made by `not`, and are attributes, as are tables of texts. */
export type QueryValue = string | number | boolean | QueryTable | readonly QueryValue[];
export type QueryTable = ReadonlyMap<string, string>;
type Query = readonly [operator: string, ...terms: readonly unknown[]];

/** The value of `$path` on a host, undefined for none; or why it is not known. */
export type LookUp = (path: string) => QueryValue | undefined | UnknownAttribute;
export interface UnknownAttribute {
  readonly unknown: string;
}

/** A query that was read; `nothing` passes every host. */
export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refused'; readonly reason: string };

export function readQuery(text: string): ReadQuery {
  const refused = (reason: string) => ({ kind: 'refused', reason }) as const;
  if (Buffer.byteLength(text) > MAX_BYTES) return refused(`the query is longer than ${MAX_BYTES} bytes`);
  const said = parsed(text);
  if (said === undefined) return refused('the query is not JSON');
  if (isNothing(said)) return { kind: 'nothing' };
  const problem = problemOf(said, 1, { termCount: 0 });
  return problem === undefined ? { kind: 'query', query: said as Query } : refused(problem);
}

/** Why a host does not meet a query; undefined when it does. */
export function refusalBy(query: Query, lookUp: LookUp): string | undefined {
  const run: Run = { lookUp, problem: undefined };
  const result = evaluate(query, run);
  if (run.problem !== undefined) return run.problem;
  return (Array.isArray(result) ? result.some(isTrue) : isTrue(result)) ? undefined : 'it does not meet the query';
}

interface Run {
  readonly lookUp: LookUp;
  /** The first thing that kept the query from an answer. */
  problem: string | undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return !value;
}

function problemOf(value: unknown, depth: number, count: { termCount: number }): string | undefined {
  if (!Array.isArray(value)) return 'the query is no list';
  if (depth > MAX_DEPTH) return `the query is nested deeper than ${MAX_DEPTH}`;
  const [operator, ...terms] = value as readonly unknown[];
  if (typeof operator !== 'string' || !Object.hasOwn(OPERATORS, operator))
    return `the query has no operator ${JSON.stringify(operator)}`;
  for (const term of terms) {
    count.termCount++;
    if (count.termCount > MAX_TERMS) return `the query has more than ${MAX_TERMS} terms`;
    if (Array.isArray(term)) {
      const problem = term.length === 0 ? undefined : problemOf(term, depth + 1, count);
      if (problem !== undefined) return problem;
    } else if (typeof term === 'object' && term !== null) return 'the query has an object in it';
  }
  return undefined;
}

function evaluate([operator, ...terms]: Query, run: Run): QueryValue {
  const values = terms.flatMap((term): QueryValue[] => {
    const value = valueOf(term, run);
    return value === undefined ? [] : [value];
  });
  return OPERATORS[operator as Operator](values, run);
}

/** Undefined for what Nova leaves out: null, an empty text, an attribute that no host has. */
function valueOf(term: unknown, run: Run): QueryValue | undefined {
  if (Array.isArray(term)) return term.length === 0 ? true : evaluate(term as unknown as Query, run);
  if (typeof term === 'string') return term.startsWith('$') ? attribute(term.slice(1), run) : term || undefined;
  return typeof term === 'number' || typeof term === 'boolean' ? term : undefined;
}

function attribute(path: string, run: Run): QueryValue | undefined {
  const found = run.lookUp(path);
  if (found === undefined || !isUnknown(found)) return found;
  run.problem ??= found.unknown;
  return undefined;
}

type Operator = keyof typeof OPERATORS;
type Operate = (values: readonly QueryValue[], run: Run) => QueryValue;

const OPERATORS = {
  '=': eachOf((first, other) => isEqual(first, other)),
  '<': ordered((order) => order < 0),
  '>': ordered((order) => order > 0),
  '<=': ordered((order) => order <= 0),
  '>=': ordered((order) => order >= 0),
  in: ([first, ...others]) => first !== undefined && others.some((one) => isEqual(first, one)),
  not: (values) => values.map((value) => !isTrue(value)),
  or: (values) => values.some(isTrue),
  and: (values) => values.every(isTrue),
} as const satisfies Readonly<Record<string, Operate>>;

/** The first value compared with each of the others; false where there is no other. */
function eachOf(compare: (first: QueryValue, other: QueryValue, run: Run) => boolean): Operate {
  return ([first, ...others], run) => {
    if (first === undefined || others.length === 0) return false;
    // All are compared, as in Nova: what has no order is found behind an answer, too.
    return others.map((other) => compare(first, other, run)).every(Boolean);
  };
}

function ordered(isMet: (order: number) => boolean): Operate {
  return eachOf((first, other, run) => {
    const order = orderOf(first, other);
    if (order === undefined) run.problem ??= `the query compares ${kindOf(first)} with ${kindOf(other)}`;
    return order !== undefined && isMet(order);
  });
}

function isTrue(value: QueryValue): boolean {
  if (isTable(value)) return value.size > 0;
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function isEqual(a: QueryValue, b: QueryValue): boolean {
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b);
  if (isTable(a) && isTable(b)) return a.size === b.size && [...a].every(([name, value]) => b.get(name) === value);
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, i) => isEqual(one as QueryValue, b[i] as QueryValue));
}

/** Negative, 0 or positive; undefined for values of two kinds, which have no order. */
function orderOf(a: QueryValue, b: QueryValue): number | undefined {
  if (isNumeric(a) && isNumeric(b)) return Number(a) - Number(b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (!Array.isArray(a) || !Array.isArray(b)) return undefined;
  const at = a.findIndex((one, i) => i >= b.length || !isEqual(one as QueryValue, b[i] as QueryValue));
  if (at === -1 || at >= b.length) return a.length - b.length;
  return orderOf(a[at] as QueryValue, b[at] as QueryValue);
}

function isNumeric(value: QueryValue): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

export function isTable(value: QueryValue): value is QueryTable {
  return value instanceof Map;
}

export function isUnknown(found: QueryValue | UnknownAttribute): found is UnknownAttribute {
  return typeof found === 'object' && 'unknown' in found;
}

function kindOf(value: QueryValue): string {
  if (isTable(value)) return 'a table';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'a text' : 'a number';
}
