import { readFileSync } from 'node:fs';
import { parseSync } from '@swc/core';
import { isProduction, pathsBelow } from '../structure/source-files';

/** A stable symbol that programs may compare, as the code says it. */
export interface Reason {
  readonly reason: string;
  /** Codes of the errors that have it, or `fault`: it is said of an instance, `refusal`: a filter says it of hosts. */
  readonly kinds: ReadonlySet<string>;
  /** A message, with … for what differs; '' where none stands beside it. */
  readonly message: string;
}

/** All reasons in the code that ships, by name. */
export function findReasons(): Reason[] {
  const found = new Map<string, { kinds: Set<string>; message: string }>();
  const paths = pathsBelow('libs', 'services').filter((one) => one.endsWith('.ts') && isProduction(one));
  const texts = paths.map((path) => readFileSync(path, 'utf8'));
  const shared = exportedSymbols(texts);
  for (const text of texts) {
    for (const { reason, kind, message } of reasonsIn(text, shared)) {
      const known = found.get(reason) ?? { kinds: new Set(), message: '' };
      known.kinds.add(kind);
      known.message ||= message;
      found.set(reason, known);
    }
  }
  return [...found].map(([reason, about]) => ({ reason, ...about })).sort((a, b) => (a.reason < b.reason ? -1 : 1));
}

interface Said {
  readonly reason: string;
  readonly kind: string;
  readonly message: string;
}

/** The part of a syntax tree's node that is read. */
interface Node {
  readonly type?: string;
  readonly value?: unknown;
  readonly raw?: string;
  readonly id?: Node;
  readonly init?: Node | null;
  readonly callee?: Node;
  readonly arguments?: unknown;
  readonly properties?: readonly Node[];
  readonly key?: Node;
  readonly quasis?: readonly { readonly cooked: string }[];
  readonly operator?: string;
  readonly left?: Node;
  readonly right?: Node;
}

const SYMBOL = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
/** Functions that take a reason first, with the kind of what they make. */
const MAKERS: ReadonlyMap<unknown, string> = new Map([
  ['invalidArgument', 'invalid_argument'],
  ['refuse', 'failed_precondition'],
  ['goBack', 'fault'],
  ['withoutWaiting', 'invalid_argument'],
]);

/** Exported constants that may be reasons, by name; none whose name stands for several. */
function exportedSymbols(texts: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const unclear = new Set<string>();
  for (const text of texts) {
    for (const [, name = '', value = ''] of text.matchAll(/^export const ([A-Z][A-Z0-9_]*) = '([^']*)';$/gm)) {
      if ((found.get(name) ?? value) !== value) unclear.add(name);
      found.set(name, value);
    }
  }
  for (const name of unclear) found.delete(name);
  return found;
}

/**
 * The reasons of one file, as literals or by the names of constants. A name is followed to the `const` that was read last under it, and
 * a reason also to another file's.
 *
 * @param shared  exported constants, by name
 */
export function reasonsIn(text: string, shared: ReadonlyMap<string, string> = new Map()): Said[] {
  const said: Said[] = [];
  const constants = new Map<unknown, Node>();
  const messageOf = (node: Node | undefined): string => {
    const its = node?.type === 'Identifier' ? constants.get(node.value) : node;
    return its === undefined ? '' : textOf(its).replace(/\s+/g, ' ').trim();
  };
  const nameOf = (reason: Node | undefined): string => {
    if (reason?.type === 'StringLiteral') return String(reason.value);
    if (reason?.type !== 'Identifier') return '';
    const own = constants.get(reason.value);
    if (own) return own.type === 'StringLiteral' ? String(own.value) : '';
    return shared.get(String(reason.value)) ?? '';
  };
  const add = (reason: Node | undefined, kind: string, message: Node | undefined) => {
    const name = nameOf(reason);
    if (SYMBOL.test(name)) said.push({ reason: name, kind, message: messageOf(message) });
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    const args = argumentsOf(node);
    if (node.type === 'VariableDeclarator' && node.init) constants.set(node.id?.value, node.init);
    if (node.type === 'NewExpression' && node.callee?.value === 'BerthError') {
      add(args[1], String(args[0]?.value), args[2]);
    }
    const maker = node.type === 'CallExpression' ? MAKERS.get(node.callee?.value) : undefined;
    if (maker !== undefined) add(args[0], maker, args[1]);
    if (node.type === 'ObjectExpression') {
      const valueOf = (key: string) =>
        node.properties?.find((one) => one.key?.value === key)?.value as Node | undefined;
      const hasMessage = node.properties?.some(({ key, value: short }) => (key?.value ?? short) === 'message') ?? false;
      const shorthand: Node | undefined = hasMessage ? { type: 'Identifier', value: 'message' } : undefined;
      if (hasMessage) add(valueOf('reason'), 'fault', valueOf('message') ?? shorthand);
      add(valueOf('symbol'), 'refusal', valueOf('phrase'));
    }
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body);
  return said;
}

/** Those of a call; a property may be called `arguments`, too. */
function argumentsOf({ arguments: its }: Node): Node[] {
  return Array.isArray(its) ? its.map(({ expression }: { readonly expression: Node }) => expression) : [];
}

/** The text of an expression, with … for what is not a literal. */
function textOf(node: Node): string {
  if (node.type === 'StringLiteral') return String(node.value);
  if (node.type === 'TemplateLiteral') return (node.quasis ?? []).map(({ cooked }) => cooked).join('…');
  if (node.type === 'BinaryExpression' && node.operator === '+' && node.left && node.right) {
    return textOf(node.left) + textOf(node.right);
  }
  return '…';
}
