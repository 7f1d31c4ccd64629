import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { invalidArgument } from '#libs/domain/errors';
import type { Environment } from '#libs/runtime/system';

/** The content of a contexts file. */
export interface ContextsFile {
  readonly path: string;
  readonly current: string | undefined;
  /** Settings of each context, by variable: `BERTH_BUS_URL`. */
  readonly contexts: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/**
 * Path of the file: BERTH_CONFIG, or `berth/berth.yaml` in the user's configuration folder; undefined without either.
 */
export function contextsPath(env: Environment): string | undefined {
  if (env['BERTH_CONFIG']) return env['BERTH_CONFIG'];
  const folder = env['XDG_CONFIG_HOME'] || (env['HOME'] && join(env['HOME'], '.config'));
  return folder ? join(folder, 'berth', 'berth.yaml') : undefined;
}

/**
 * Reads the file; undefined when it is missing and none was named.
 *
 * @throws BerthError `invalid_argument / bad_config`
 */
export async function readContexts(env: Environment): Promise<ContextsFile | undefined> {
  const path = contextsPath(env);
  if (path === undefined || !existsSync(path)) {
    if (env['BERTH_CONFIG']) throw badFile(path ?? '', 'is not there');
    return undefined;
  }
  // Most users have no such file; loading the parser would delay them.
  const { parse } = await import('yaml');
  let read: unknown;
  try {
    read = parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    throw badFile(path, `can't be read: ${(thrown as Error).message}`);
  }
  const { 'current-context': current, contexts = {}, ...others } = mapIn(path, 'it', read ?? {});
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw badFile(path, `has '${unknown}', which is neither current-context nor contexts`);
  if (current !== undefined && typeof current !== 'string') throw badFile(path, 'current-context must be a name');
  const named = Object.entries(mapIn(path, 'contexts', contexts));
  return { path, current, contexts: Object.fromEntries(named.map(([name, of]) => [name, settingsIn(path, name, of)])) };
}

/**
 * The environment over the settings of a context: BERTH_CONTEXT, or else the current one.
 *
 * @throws BerthError `invalid_argument / bad_config`, also for a context missing in the file.
 */
export async function withContext(env: Environment): Promise<Environment> {
  const file = await readContexts(env);
  const wanted = env['BERTH_CONTEXT'] || file?.current;
  if (!wanted) return env;
  const settings = file?.contexts[wanted];
  if (settings !== undefined) return { ...settings, ...env };
  const known = Object.keys(file?.contexts ?? {}).join(', ') || 'none';
  const where = file?.path ?? contextsPath(env) ?? 'any file';
  throw invalidArgument(
    'bad_config',
    `there is no context '${wanted}' in ${where}; there is ${known}`,
    'BERTH_CONTEXT',
  );
}

/** Keys are flag names, `bus-url: amqp://...`, or variable names. */
function settingsIn(path: string, context: string, of: unknown): Record<string, string> {
  const entries = Object.entries(mapIn(path, `context ${context}`, of));
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (!['string', 'number', 'boolean'].includes(typeof value))
        throw badFile(path, `context ${context}: ${name} must be one value`);
      return [name.startsWith('BERTH_') ? name : `BERTH_${name.toUpperCase().replaceAll('-', '_')}`, String(value)];
    }),
  );
}

function mapIn(path: string, what: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badFile(path, `${what} must be a map of names to values`);
}

function badFile(path: string, problem: string) {
  return invalidArgument('bad_config', `${path} ${problem}`, 'BERTH_CONFIG');
}
