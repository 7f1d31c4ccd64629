// Version 3 of zod's API, which newer versions still ship: it loads in a fifth of their time, at each start of a
// command.
import { z } from 'zod/v3';
import { BerthError } from '../domain/errors';
import { closestTo } from '../domain/naming/known-names';
import { counted } from './counted';
import type { Environment } from './system';

/**
 * One setting of a process. It goes by its environment variable in `berth config` and in errors, and derives its flag
 * from it (`BERTH_BUS_URL` is `--bus-url`).
 */
export interface Option<T> {
  /** `BERTH_...` */
  readonly env: string;
  readonly default: T;
  /** One sentence for an operator. */
  readonly help: string;
  /** `ms`, `MiB`, `hosts`; '' for none. */
  readonly unit: string;
  /** In words: `1..100`, `true|false`, `url`. */
  readonly range: string;
  /** Never shown, except an address without its password. */
  readonly secret: boolean;
  /**
   * Parses its text, which is not empty; issues complete a sentence that begins with the setting's name: `must be ...`.
   */
  readonly schema: Schema<T>;
}

export type Options = Readonly<Record<string, Option<unknown>>>;
/** The configuration that a table of options yields. */
export type ConfigOf<O extends Options> = { readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** The option tables of one process, by owner; names may repeat across tables. */
export type Tables = Readonly<Record<string, Options>>;
export type ConfigsOf<T extends Tables> = { readonly [K in keyof T]: ConfigOf<T[K]> };

/** A zod schema from text. */
type Schema<T> = z.ZodType<T, z.ZodTypeDef, string>;

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

/** A whole number within inclusive bounds. */
export function intOption(o: Bounded): Option<number> {
  return numeric(o, /^-?\d+$/, 'a whole number');
}

/** A time in whole milliseconds within inclusive bounds. */
export function durationOption(o: Bounded): Option<number> {
  return intOption({ ...o, unit: 'ms' });
}

/** A number within inclusive bounds. */
export function numberOption(o: Bounded): Option<number> {
  return numeric(o, /^-?\d+(\.\d+)?$/, 'a number');
}

function numeric(o: Bounded, pattern: RegExp, kind: string): Option<number> {
  const must = mustBe(`${kind} from ${o.min} to ${o.max}`);
  return makeOption(o, `${o.min}..${o.max}`, () => {
    return z.string(must).regex(pattern).transform(Number).pipe(z.number(must).min(o.min).max(o.max));
  });
}

export function booleanOption(o: Common<boolean>): Option<boolean> {
  const must = mustBe('true or false');
  return makeOption(
    o,
    'true|false',
    () => z.enum(['true', 'false'], must).transform((said) => said === 'true') as Schema<boolean>,
  );
}

/** A text that matches `pattern`; `range` describes it. */
export function stringOption(
  o: Common<string> & { readonly pattern?: RegExp; readonly range?: string },
): Option<string> {
  const { pattern = /^/, range = 'text', secret } = o;
  return makeOption(o, range, () => z.string(mustBe(range, secret)).regex(pattern));
}

export function enumOption<const T extends string>(o: Common<T> & { readonly values: readonly T[] }): Option<T> {
  const must = mustBe(`one of ${o.values.join(', ')}`);
  return makeOption(o, o.values.join('|'), () => z.enum(o.values as readonly [T, ...T[]], must) as Schema<T>);
}

/** Texts between separators; `problem` says what is wrong with one, as the end of a sentence. */
export function textsOption(
  o: Common<readonly string[]> & {
    readonly range: string;
    readonly separator: RegExp;
    readonly problem: (text: string) => string | undefined;
  },
): Option<readonly string[]> {
  return makeOption(o, o.range, () => {
    const text = z.string().superRefine((said, issues) => {
      const message = o.problem(said);
      if (message !== undefined) issues.addIssue({ code: 'custom', message });
    });
    return partsBetween(o.separator).pipe(z.array(text));
  });
}

/** Names separated by commas, limited to `values` if given. */
export function listOption(
  o: Common<readonly string[]> & { readonly values?: readonly string[] },
): Option<readonly string[]> {
  const known = o.values?.join(', ');
  const isKnown = (name: string) => o.values?.includes(name) ?? true;
  return makeOption(o, known === undefined ? 'list' : `list of ${known}`, () => {
    const name = z.string().refine(isKnown, (said) => ({ message: `does not know '${said}'; known: ${known}` }));
    return partsBetween(',').pipe(z.array(name));
  });
}

function partsBetween(separator: string | RegExp) {
  const parts = z.string().transform((text) => text.split(separator).map((part) => part.trim()));
  return parts.transform((all) => all.filter(Boolean));
}

/** zod's message for a rejected text. */
function mustBe(what: string, secret = false): z.RawCreateParams {
  return { errorMap: (_, { data }) => ({ message: `must be ${what}, not '${secret ? hideSecret(data) : data}'` }) };
}

/** The printable part of a secret: an address without its passwords; nothing of other texts. */
export function hideSecret(text: string): string {
  if (!/^[a-z+]+:(\/\/|$)/.test(text)) return '***';
  // The Sentinels' password stands in the query (`redis/address`).
  return text.replace(/\/\/([^:@/]*):\S*@/, '//$1:***@').replace(/(password=)[^&\s]*/g, '$1***');
}

/** A configuration without its secrets, for what others may read: texts of secret options are empty. */
export function withoutSecrets<O extends Options>(options: O, config: ConfigOf<O>): ConfigOf<O> {
  const hidden = Object.entries(options).flatMap(([key, { secret }]) => (secret ? [[key, ''] as const] : []));
  return { ...config, ...Object.fromEntries(hidden) };
}

/** Schemas are created on first use: a command reads few settings, and creating all would delay it. */
function makeOption<T>(o: Common<T>, range: string, makeSchema: () => Schema<T>): Option<T> {
  const schema = { get: makeSchema, enumerable: true };
  return Object.defineProperty({ unit: '', secret: false, ...o, range } as Option<T>, 'schema', schema);
}

/**
 * Reads a table of options from an environment, frozen. All problems are reported at once.
 *
 * @throws BerthError `invalid_argument / bad_config`, one line per problem.
 */
export function readConfig<O extends Options>(options: O, env: Environment): ConfigOf<O> {
  return readConfigs({ it: options }, env).it;
}

/** Reads several tables with `readConfig`, each under its name; reports `others`, too, when there is a problem. */
export function readConfigs<T extends Tables>(
  tables: T,
  env: Environment,
  others: readonly string[] = [],
): ConfigsOf<T> {
  const problems = new Set<string>(others);
  const configs = mapValues(tables, (options) => {
    const given = mapValues(options, (o) => (isServiceLink(o.env, env) ? undefined : env[o.env] || undefined));
    const read = z.object(mapValues(options, ({ schema }) => schema.optional())).safeParse(given);
    for (const { path, message } of read.error?.issues ?? []) problems.add(`${options[path[0] ?? '']?.env} ${message}`);
    return Object.freeze(mapValues(options, (option, key) => read.data?.[key] ?? option.default));
  });
  if (problems.size > 0) throw badConfig([...problems]);
  return Object.freeze(configs) as ConfigsOf<T>;
}

function mapValues<V, W>(of: Readonly<Record<string, V>>, map: (value: V, key: string) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, map(value, key)]));
}

/** The problems of unknown `BERTH_*` names: a misspelt setting must not pass for a default. */
export function unknownNames(tables: readonly Options[], env: Environment): readonly string[] {
  const known = new Set(tables.flatMap((table) => Object.values(table).map((option) => option.env)));
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith('BERTH_') && !known.has(name) && !isServiceLink(name, env),
  );
  return unknown.map((name) => {
    const near = closestTo(name, known);
    return `${name} is not a setting of Berth; ${near === undefined ? "'berth config' lists them" : `did you mean ${near}?`}`;
  });
}

/**
 * True for the variables that Kubernetes injects for each service of the namespace: for `berth-placement`
 * `BERTH_PLACEMENT_SERVICE_HOST`, `BERTH_PLACEMENT_PORT=tcp://...` and the like. They are never settings, even with a
 * setting's name.
 */
function isServiceLink(name: string, env: Environment): boolean {
  const [, service] = SERVICE_LINK.exec(name) ?? [];
  if (service === undefined || env[`${service}_SERVICE_HOST`] === undefined) return false;
  return name !== `${service}_PORT` || /^\w+:\/\//.test(env[name] ?? '');
}

const SERVICE_LINK =
  /^(BERTH(?:_\w+?)??)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_[A-Z]+(?:_(?:PROTO|PORT|ADDR))?)$/;

/** `invalid_argument / bad_config`, one line per problem. */
export function badConfig(problems: readonly string[]): BerthError {
  return new BerthError(
    'invalid_argument',
    'bad_config',
    `the configuration has ${counted(problems.length, 'problem')}:\n  ${problems.join('\n  ')}`,
  );
}
