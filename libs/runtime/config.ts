import { BerthError } from '../domain/errors';

/**
 * One setting of a process. The environment variable is the name of it everywhere: in `berth config`, in errors, and as
 * a flag (`BERTH_BUS_URL` is `--bus-url`).
 */
export interface Option<T> {
  /** `BERTH_...` */
  readonly env: string;
  readonly default: T;
  /** One sentence: what it does, for an operator. */
  readonly help: string;
  /** `ms`, `MiB`, `hosts`; '' for none. */
  readonly unit: string;
  /** In words: `1..100`, `true|false`, `url`. */
  readonly range: string;
  /** Never shown. */
  readonly secret: boolean;
  /** The value, or a sentence of what is wrong. */
  parse(text: string): { readonly value: T } | { readonly problem: string };
}

export type Options = Readonly<Record<string, Option<unknown>>>;
/** What a table of options reads as. */
export type ConfigOf<O extends Options> = { readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** Tables that one process reads, by whose they are: names inside of them may be the same. */
export type Tables = Readonly<Record<string, Options>>;
export type ConfigsOf<T extends Tables> = { readonly [K in keyof T]: ConfigOf<T[K]> };

interface Common<T> {
  readonly env: string;
  readonly help: string;
  readonly default: T;
  readonly unit?: string;
  readonly secret?: boolean;
}
interface Bounded extends Common<number> {
  readonly min: number;
  readonly max: number;
}

/** A whole number within bounds, both included. */
export function intOption(o: Bounded): Option<number> {
  return numeric(o, /^-?\d+$/, 'a whole number');
}

/** A time in whole milliseconds within bounds, both included. */
export function durationOption(o: Bounded): Option<number> {
  return intOption({ ...o, unit: 'ms' });
}

/** A number within bounds, both included. */
export function numberOption(o: Bounded): Option<number> {
  return numeric(o, /^-?\d+(\.\d+)?$/, 'a number');
}

function numeric(o: Bounded, pattern: RegExp, kind: string): Option<number> {
  return makeOption(o, `${o.min}..${o.max}`, (text) => {
    const value = Number(text);
    const isValid = pattern.test(text) && value >= o.min && value <= o.max;
    return isValid ? { value } : { problem: `must be ${kind} from ${o.min} to ${o.max}, not '${text}'` };
  });
}

export function booleanOption(o: Common<boolean>): Option<boolean> {
  return makeOption(o, 'true|false', (text) =>
    text === 'true' || text === 'false'
      ? { value: text === 'true' }
      : { problem: `must be true or false, not '${text}'` },
  );
}

/** A text; `range` says what it may look like, as `pattern` does. */
export function stringOption(
  o: Common<string> & { readonly pattern?: RegExp; readonly range?: string },
): Option<string> {
  const { pattern = /^/, range = 'text', secret } = o;
  return makeOption(o, range, (text) =>
    pattern.test(text) ? { value: text } : { problem: `must be ${range}, not '${secret ? '***' : text}'` },
  );
}

export function enumOption<const T extends string>(o: Common<T> & { readonly values: readonly T[] }): Option<T> {
  return makeOption(o, o.values.join('|'), (text) => {
    const value = o.values.find((v) => v === text);
    return value === undefined ? { problem: `must be one of ${o.values.join(', ')}, not '${text}'` } : { value };
  });
}

/** Names separated by commas; `values` bounds them when given. */
export function listOption(
  o: Common<readonly string[]> & { readonly values?: readonly string[] },
): Option<readonly string[]> {
  const known = o.values?.join(', ');
  return makeOption(o, known === undefined ? 'list' : `list of ${known}`, (text) => {
    const value = text
      .split(',')
      .map((v) => v.trim())
      .filter((v) => v !== '');
    const unknown = value.find((v) => o.values && !o.values.includes(v));
    return unknown === undefined ? { value } : { problem: `does not know '${unknown}'; known: ${known}` };
  });
}

function makeOption<T>(o: Common<T>, range: string, parse: Option<T>['parse']): Option<T> {
  return { env: o.env, default: o.default, help: o.help, unit: o.unit ?? '', range, secret: o.secret ?? false, parse };
}

/**
 * Reads a table of options from an environment, frozen. All problems are reported at once.
 *
 * @throws BerthError `invalid_argument / bad_config`, one line per problem.
 */
export function readConfig<O extends Options>(
  options: O,
  env: Readonly<Record<string, string | undefined>>,
): ConfigOf<O> {
  return readConfigs({ it: options }, env).it;
}

/** Reads several tables, each under its name, as `readConfig` reads one. */
export function readConfigs<T extends Tables>(
  tables: T,
  env: Readonly<Record<string, string | undefined>>,
): ConfigsOf<T> {
  const problems = new Set<string>();
  const configs = Object.entries(tables).map(([name, options]) => {
    const values = Object.entries(options).map(([key, option]) => {
      const text = isServiceLink(option.env, env) ? undefined : env[option.env];
      return [key, valueOf(option, text, problems)];
    });
    return [name, Object.freeze(Object.fromEntries(values))];
  });
  if (problems.size > 0) throw badConfig([...problems]);
  return Object.freeze(Object.fromEntries(configs)) as ConfigsOf<T>;
}

function valueOf(option: Option<unknown>, text: string | undefined, problems: Set<string>): unknown {
  if (text === undefined || text === '') return option.default;
  const parsed = option.parse(text);
  if ('value' in parsed) return parsed.value;
  problems.add(`${option.env} ${parsed.problem}`);
  return option.default;
}

/** Refuses `BERTH_*` names that no table knows: a misspelt setting must not pass for a default. */
export function refuseUnknown(tables: readonly Options[], env: Readonly<Record<string, string | undefined>>): void {
  const known = new Set(tables.flatMap((table) => Object.values(table).map((option) => option.env)));
  const problems = Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !known.has(name) && !isServiceLink(name, env))
    .map((name) => `${name} is not a setting of Berth; 'berth config' lists them`);
  if (problems.length > 0) throw badConfig(problems);
}

/**
 * Whether a variable is one that Kubernetes gives every container for a service of the same namespace: for `berth-placement`
 * `BERTH_PLACEMENT_SERVICE_HOST`, `BERTH_PLACEMENT_PORT=tcp://...` and the like. They are nobody's settings, also where
 * they have the name of one.
 */
function isServiceLink(name: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const [, service] = SERVICE_LINK.exec(name) ?? [];
  if (service === undefined || env[`${service}_SERVICE_HOST`] === undefined) return false;
  return name !== `${service}_PORT` || /^\w+:\/\//.test(env[name] ?? '');
}

const SERVICE_LINK =
  /^(BERTH(?:_\w+?)??)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_[A-Z]+(?:_(?:PROTO|PORT|ADDR))?)$/;

function badConfig(problems: readonly string[]): BerthError {
  return new BerthError(
    'invalid_argument',
    'bad_config',
    `the configuration has ${problems.length} problem(s):\n  ${problems.join('\n  ')}`,
  );
}
