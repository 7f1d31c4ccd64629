import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { Device, DeviceAttribute } from '../domain/devices/device';
import { parseQuantity } from '../domain/devices/quantity';
import { compareVersions, parseVersion, type Version } from '../domain/devices/version';
import { lru } from '../runtime/lru';

/** A condition on a device: one conjunct of an expression. */
export interface Selector {
  /** As the request says it. */
  readonly text: string;
  /** True, false, or why it has no value: a device where it has none does not match. */
  matches(device: Device): boolean | string;
}

/**
 * The conditions of an expression over `device`, split at its outermost `&&`, so that a refusal names the one that excludes
 * a host. The language is a total part of CEL: no loops but `exists`, `all` and `exists_one`, no patterns, nothing that
 * makes texts or lists longer with each loop: lists stand only where one is searched, and loops' variables can't be added. The
 * cost of an expression is known before it runs ({@link MAX_COST}).
 *
 * @throws Error with the place and the reason when it is malformed, is no bool, calls what is not offered, or costs too much
 */
export function parseSelectors(text: string): readonly Selector[] {
  return compile(text).parts;
}

/** Steps of one evaluation at most. @throws Error as `parseSelectors` */
export function costOfSelectors(text: string): number {
  return compile(text).cost;
}

interface Compiled {
  readonly parts: readonly Selector[];
  readonly cost: number;
}

function compile(text: string): Compiled {
  const known = compiled.get(text);
  if (known) return known;
  const { ast } = checked(text);
  const cost = costOf(ast);
  if (cost > MAX_COST)
    throw new Error(`it may take ${cost} steps, more than ${MAX_COST}: nest fewer exists() and all()`);
  const made = { parts: conjuncts(ast).map(({ start, end }) => selector(text.slice(start, end))), cost };
  compiled.set(text, made);
  return made;
}

/** Steps of one evaluation at most: a step is a node of the expression, those in `exists` and `all` once for each element. */
export const MAX_COST = 2_000;
/** Nodes of an expression. */
export const MAX_NODES = 200;
/** Elements that `exists` and `all` are taken to walk where the list is not spelled out. */
const MOST_ELEMENTS = 32;

const compiled = lru<string, Compiled>(1_000);

function selector(text: string): Selector {
  const run = checked(text);
  let known = new WeakMap<Device, boolean | string>();
  let era = kept.era;
  return {
    text,
    matches(device) {
      if (era !== kept.era) {
        known = new WeakMap();
        era = kept.era;
      }
      const before = known.get(device);
      if (before !== undefined) return before;
      const value = evaluate(run, device);
      known.set(device, value);
      noteKept();
      return value;
    },
  };
}

/**
 * Values that all selectors keep. Mirrors keep equal devices once, so that a fleet of one model is evaluated once; where every
 * device is another, a thousand expressions would keep more than a process has memory for.
 */
const kept = { era: 0, count: 0 };
const MAX_KEPT_VALUES = 500_000;

/** Counts a kept value; above the limit all are forgotten. */
function noteKept(): void {
  kept.count += 1;
  if (kept.count < MAX_KEPT_VALUES) return;
  kept.era += 1;
  kept.count = 0;
}

function evaluate(run: (input: Input) => unknown, device: Device): boolean | string {
  try {
    const value = run(inputOf(device));
    return typeof value === 'boolean' ? value : 'it is no bool';
  } catch (thrown) {
    return (thrown as Error).message.split('\n')[0] ?? '';
  }
}

function checked(text: string) {
  const parsed = ENVIRONMENT.parse(text);
  requireOffered(parsed.ast);
  const { valid, type, error } = parsed.check();
  if (!valid) throw error ?? new Error('it is not valid');
  if (type !== 'bool' && type !== 'dyn') throw new Error(`it is a ${type}, not a bool`);
  return parsed;
}

function conjuncts(node: ASTNode): readonly ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(conjuncts) : [node];
}

const MACROS: ReadonlySet<string> = new Set(['exists', 'all', 'exists_one']);
const CALLS: ReadonlySet<string> = new Set(['has', 'size', 'quantity', 'semver', 'startsWith', 'endsWith', 'contains']);

/**
 * Functions are a closed set: what is not known to be cheap is not offered. A list elsewhere than behind `in` or before a loop
 * could hold lists, each twice the one before; so could a text that a loop adds to itself.
 */
function requireOffered(node: ASTNode, mayBeList = false): void {
  const name = node.op === 'call' || node.op === 'rcall' ? node.args[0] : undefined;
  if (name !== undefined && !MACROS.has(name) && !CALLS.has(name)) {
    throw new Error(`${name}() is not offered; there are ${[...CALLS, ...MACROS].join(', ')}`);
  }
  if (node.op === 'map' || (node.op === 'list' && !mayBeList)) {
    throw new Error(`a ${node.op} is offered only as the list that in, exists() or all() searches`);
  }
  if (node.op === '+' && namesVariable(node)) throw new Error('a variable of exists() or all() can not be added');
  const searched = searchedBy(node);
  for (const child of childrenOf(node)) requireOffered(child, child === searched);
}

function searchedBy(node: ASTNode): ASTNode | undefined {
  if (node.op === 'in') return node.args[1];
  if (node.op !== 'rcall' || !MACROS.has(node.args[0])) return undefined;
  const [, range, [variable]] = node.args;
  if (variable?.op === 'id' && variable.args === DEVICE) throw new Error(`a variable can not be called ${DEVICE}`);
  return range;
}

const DEVICE = 'device';

function namesVariable(node: ASTNode): boolean {
  return node.op === 'id' ? node.args !== DEVICE : childrenOf(node).some(namesVariable);
}

function costOf(node: ASTNode): number {
  if (node.op === 'rcall' && MACROS.has(node.args[0])) {
    const [, range, args] = node.args;
    const elements = range.op === 'list' ? range.args.length : MOST_ELEMENTS;
    return 1 + costOf(range) + elements * sum(args);
  }
  return 1 + sum(childrenOf(node));
}

function sum(nodes: readonly ASTNode[]): number {
  return nodes.reduce((total, node) => total + costOf(node), 0);
}

function childrenOf({ args }: ASTNode): readonly ASTNode[] {
  return ([args] as readonly unknown[]).flat(MOST_NESTED).filter(isNode);
}

/** Arguments stand in lists, entries of maps in lists of them. */
const MOST_NESTED = 3;

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}

/** A version as expressions have it. */
class Semver {
  constructor(readonly version: Version) {}
}

function semver(text: string): Semver {
  const version = parseVersion(text);
  if (!version) throw new Error(`'${text.slice(0, 64)}' is no semantic version`);
  return new Semver(version);
}

function quantity(text: string): bigint {
  const amount = parseQuantity(text);
  if (amount === undefined) throw new Error(`'${text.slice(0, 64)}' is no quantity`);
  return BigInt(amount);
}

type Input = ReturnType<typeof inputOf>;

const inputs = new WeakMap<Device, { readonly device: object }>();

function inputOf(device: Device): { readonly device: object } {
  const known = inputs.get(device);
  if (known) return known;
  const attributes = new Map(Object.entries(device.attributes).map(([name, one]) => [name, valueOf(one)] as const));
  const capacity = new Map(
    Object.entries(device.capacity).map(([name, { amount }]) => [name, BigInt(amount)] as const),
  );
  const made = { device: { attributes, capacity } };
  inputs.set(device, made);
  return made;
}

function valueOf(attribute: DeviceAttribute): unknown {
  switch (attribute.kind) {
    case 'int':
      return BigInt(attribute.value);
    case 'version':
      return semver(attribute.value);
    case 'bool':
    case 'string':
      return attribute.value;
  }
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  '==': (order) => order === 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

const ENVIRONMENT = withComparisons(
  new Environment({ limits: { maxAstNodes: MAX_NODES, maxDepth: 30 } })
    .registerType('Semver', { ctor: Semver, fields: {} })
    .registerVariable(DEVICE, { schema: { attributes: 'map<string, dyn>', capacity: 'map<string, int>' } })
    .registerFunction('semver(string): Semver', semver)
    .registerFunction('quantity(string): int', quantity),
);

function withComparisons(environment: Environment): Environment {
  let made = environment;
  for (const [operator, holds] of Object.entries(COMPARISONS)) {
    made = made.registerOperator(`Semver ${operator} Semver: bool`, (a: Semver, b: Semver) =>
      holds(compareVersions(a.version, b.version)),
    );
  }
  return made;
}
