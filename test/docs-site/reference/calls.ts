import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { isProduction } from '../../structure/source-files';

/** A call in the sources: its function, and the arguments that are literal texts. */
export interface Call {
  readonly path: string;
  /** `counter` of `metrics.counter(...)`, `BerthError` of `new BerthError(...)`. */
  readonly of: string;
  readonly texts: readonly (string | undefined)[];
  /** The `event` of a log message's fields, from the call or from the constant that it names. */
  readonly event: string | undefined;
}

interface Node {
  readonly type?: string;
  readonly value?: string | number | boolean | null;
  readonly operator?: string;
  readonly left?: Node;
  readonly right?: Node;
  readonly callee?: Node;
  readonly property?: Node;
  readonly arguments?: readonly { readonly expression: Node }[] | null;
  /** Name and value of a constant. */
  readonly id?: Node;
  readonly init?: Node | null;
  /** Fields of an object. */
  readonly properties?: readonly { readonly key?: Node; readonly value?: unknown }[];
}

/** Every call and every `new` in the sources that ship. */
export function callsInSources(root: string): Call[] {
  const paths = ['libs', 'services'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return paths
    .filter((path) => path.endsWith('.ts') && isProduction(path))
    .flatMap((path) => callsIn(readFileSync(join(root, path), 'utf8'), path));
}

function callsIn(text: string, path: string): Call[] {
  const calls: Call[] = [];
  const eventOf = new Map<unknown, string | undefined>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const { type, callee, arguments: given, id, init } = value as Node;
    if (type === 'VariableDeclarator') eventOf.set(id?.value, eventIn(init));
    if (type === 'CallExpression' || type === 'NewExpression') {
      const of = String(callee?.property?.value ?? callee?.value);
      const fields = given?.[0]?.expression;
      const event = fields?.type === 'Identifier' ? eventOf.get(fields.value) : eventIn(fields);
      calls.push({ path, of, texts: (given ?? []).map(({ expression }) => textIn(expression)), event });
    }
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body);
  return calls;
}

/** The literal `event` field of an object. */
function eventIn(object: Node | null | undefined): string | undefined {
  const field = object?.properties?.find(({ key }) => key?.value === 'event');
  return field && textIn(field.value as Node);
}

/** A literal text, or several joined with `+`. */
function textIn({ type, value, operator, left, right }: Node): string | undefined {
  if (type === 'StringLiteral') return String(value);
  if (type !== 'BinaryExpression' || operator !== '+' || !left || !right) return undefined;
  const [first, second] = [textIn(left), textIn(right)];
  return first === undefined || second === undefined ? undefined : first + second;
}
