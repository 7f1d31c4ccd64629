import { Environment } from '@marcbachmann/cel-js';

/**
 * The variables of declared rules. `host` has facts that hold whether or not the host is busy, `load` what changes with
 * each claim, `request` what its equivalence class asks for: neither project nor user, since equal requests share one
 * ranking. Amounts are in the units of their resource class, and all numbers are doubles.
 */
export interface RuleInput {
  readonly host: {
    readonly name: string;
    /** Aggregates by name. */
    readonly aggregates: readonly string[];
    /** Metadata of all its aggregates. */
    readonly metadata: Readonly<Record<string, readonly string[]>>;
    /** Capabilities that its agent reports. */
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
    readonly traits: readonly string[];
    /** Capacities: (total − reserved) × allocation ratio. */
    readonly capacity: Readonly<Record<string, number>>;
  };
  readonly load: {
    readonly free: Readonly<Record<string, number>>;
    readonly instances: number;
    readonly builds_in_progress: number;
    /** Failed builds, faded with time. */
    readonly recent_failures: number;
  };
  readonly request: {
    readonly resources: Readonly<Record<string, number>>;
    readonly required_traits: readonly string[];
    readonly forbidden_traits: readonly string[];
    readonly extra_specs: Readonly<Record<string, string>>;
    readonly image_properties: Readonly<Record<string, string>>;
    /** '' for any. */
    readonly availability_zone: string;
  };
}

export interface Expression {
  /** The value; throws a message where it has none, such as for a key that the host lacks. */
  evaluate(input: RuleInput): unknown;
  /** True if the value may change with a claim. */
  readonly readsLoad: boolean;
}

/**
 * An expression in the Common Expression Language (https://cel.dev), which is total: it has no loops and ends.
 *
 * @throws Error with the place and the reason when it is malformed or its type is another.
 */
export function parseExpression(text: string, type: 'bool' | 'number'): Expression {
  // The library matches by JavaScript's patterns, which a tenant's text could make take exponential time.
  if (/\bmatches\s*\(/.test(text)) throw new Error('matches() is not offered: use startsWith, endsWith or contains');
  const parsed = ENVIRONMENT.parse(text);
  const checked = parsed.check();
  if (!checked.valid) throw checked.error ?? new Error('it is not valid');
  const isOfType = type === 'bool' ? checked.type === 'bool' : checked.type === 'double' || checked.type === 'int';
  if (!isOfType && checked.type !== 'dyn') throw new Error(`it is a ${checked.type}, not a ${type}`);
  return {
    evaluate: (input) => parsed(input) as unknown,
    readsLoad: /\bload\b/.test(text),
  };
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

const TEXTS = 'list<string>';
const LISTS = 'map<string, list<string>>';
const AMOUNTS = 'map<string, double>';
const ENVIRONMENT = withMixedNumbers(
  new Environment({ limits: { maxAstNodes: 1_000, maxDepth: 50 } })
    .registerVariable('host', {
      schema: {
        name: 'string',
        aggregates: TEXTS,
        metadata: LISTS,
        capabilities: LISTS,
        traits: TEXTS,
        capacity: AMOUNTS,
      },
    })
    .registerVariable('load', {
      schema: { free: AMOUNTS, instances: 'double', builds_in_progress: 'double', recent_failures: 'double' },
    })
    .registerVariable('request', {
      schema: {
        resources: AMOUNTS,
        required_traits: TEXTS,
        forbidden_traits: TEXTS,
        extra_specs: 'map<string, string>',
        image_properties: 'map<string, string>',
        availability_zone: 'string',
      },
    }),
);

/** CEL has no arithmetic between `double` and `int`; operators write `load.instances / 8`. */
function withMixedNumbers(environment: Environment): Environment {
  let mixed = environment;
  for (const [operator, calculate] of Object.entries(ARITHMETIC)) {
    mixed = mixed
      .registerOperator(`double ${operator} int: double`, (a: number, b: bigint) => calculate(a, Number(b)))
      .registerOperator(`int ${operator} double: double`, (a: bigint, b: number) => calculate(Number(a), b));
  }
  return mixed.registerOperator('double == int', (a: number, b: bigint) => a === Number(b));
}
