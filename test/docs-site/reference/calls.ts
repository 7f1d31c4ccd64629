import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { isProduction } from '../../structure/source-files';

/** A call in the sources: of what, and its arguments as far as they are texts. */
export interface Call {
  readonly path: string;
  /** `counter` of `metrics.counter(...)`, `BerthError` of `new BerthError(...)`. */
  readonly of: string;
  readonly texts: readonly (string | undefined)[];
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
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const { type, callee, arguments: given } = value as Node;
    if (type === 'CallExpression' || type === 'NewExpression') {
      const of = String(callee?.property?.value ?? callee?.value);
      calls.push({ path, of, texts: (given ?? []).map(({ expression }) => textIn(expression)) });
    }
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body);
  return calls;
}

/** Of a text, or of several put together with `+`. */
function textIn({ type, value, operator, left, right }: Node): string | undefined {
  if (type === 'StringLiteral') return String(value);
  if (type !== 'BinaryExpression' || operator !== '+' || !left || !right) return undefined;
  const [first, second] = [textIn(left), textIn(right)];
  return first === undefined || second === undefined ? undefined : first + second;
}
