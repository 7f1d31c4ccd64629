import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { invalidArgument } from '#libs/domain/errors';
import type { Environment } from '#libs/runtime/system';

/** Settings by variable (`BERTH_BUS_URL`), and where they stand. */
export interface Layer {
  readonly origin: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** The content of `berth.yaml` and of the `berth.d/*.yaml` beside it. */
export interface ContextsFile {
  readonly path: string;
  readonly current: string | undefined;
  /** Settings of each context, by variable: `BERTH_BUS_URL`. */
  readonly contexts: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** `settings` of the file, then of each of `berth.d` by name: a later one overrides. */
  readonly layers: readonly Layer[];
}

/** Files of one `berth.d`. */
const MAX_FRAGMENTS = 100;

/**
 * Path of the file: BERTH_CONFIG, or `berth/berth.yaml` in the user's configuration folder; undefined without either.
 */
export function contextsPath(env: Environment): string | undefined {
  if (env['BERTH_CONFIG']) return env['BERTH_CONFIG'];
  const folder = env['XDG_CONFIG_HOME'] || (env['HOME'] && join(env['HOME'], '.config'));
  return folder ? join(folder, 'berth', 'berth.yaml') : undefined;
}

/**
 * Reads the file and its `berth.d`; undefined when both are missing and no file was named.
 *
 * @throws BerthError `invalid_argument / bad_config`
 */
export async function readContexts(env: Environment): Promise<ContextsFile | undefined> {
  const path = contextsPath(env);
  if (path === undefined) return undefined;
  const isThere = existsSync(path);
  if (!isThere && env['BERTH_CONFIG']) throw badFile(path, 'is not there');
  const fragments = fragmentsOf(path);
  if (!isThere && fragments.length === 0) return undefined;
  const { 'current-context': current, contexts = {}, settings = {}, ...others } = isThere ? await readMap(path) : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw badFile(path, `has '${unknown}', which is none of current-context, contexts and settings`);
  if (current !== undefined && typeof current !== 'string') throw badFile(path, 'current-context must be a name');
  const named = Object.entries(mapIn(path, 'contexts', contexts));
  const layers = [{ origin: path, settings: settingsIn(path, 'settings', settings) }];
  for (const fragment of fragments) layers.push(await readFragment(fragment));
  const inContext = ([name, of]: [string, unknown]) => [name, settingsIn(path, `context ${name}`, of)] as const;
  return { path, current, contexts: Object.fromEntries(named.map(inContext)), layers };
}

/** The files of `berth.d`, in the order of their names. */
function fragmentsOf(path: string): readonly string[] {
  const folder = join(dirname(path), 'berth.d');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  if (names.length > MAX_FRAGMENTS) throw badFile(folder, `has ${names.length} files; ${MAX_FRAGMENTS} are the most`);
  return names.toSorted().map((name) => join(folder, name));
}

async function readFragment(path: string): Promise<Layer> {
  const { settings = {}, ...others } = await readMap(path);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw badFile(path, `has '${unknown}': files of berth.d have settings only`);
  return { origin: path, settings: settingsIn(path, 'settings', settings) };
}

async function readMap(path: string): Promise<Record<string, unknown>> {
  // Most users have no such file; loading the parser would delay them.
  const { parse } = await import('yaml');
  let read: unknown;
  try {
    read = parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    throw badFile(path, `can't be read: ${(thrown as Error).message}`);
  }
  return mapIn(path, 'it', read ?? {});
}

/** The environment over the files' settings. @throws BerthError as `layersOf`. */
export async function withContext(env: Environment): Promise<Environment> {
  const layers = await layersOf(env);
  return Object.assign({}, ...layers.map(({ settings }) => settings), env) as Environment;
}

/**
 * Settings below the environment, a later layer over an earlier one: `berth.yaml`, each of `berth.d`, and the context:
 * BERTH_CONTEXT, or else the current one.
 *
 * @throws BerthError `invalid_argument / bad_config`, also for a context missing in the file.
 */
export async function layersOf(env: Environment): Promise<readonly Layer[]> {
  const file = await readContexts(env);
  const layers = file?.layers ?? [];
  const wanted = env['BERTH_CONTEXT'] || file?.current;
  if (!wanted) return layers;
  const settings = file?.contexts[wanted];
  if (settings !== undefined) return [...layers, { origin: `context ${wanted} of ${file?.path}`, settings }];
  const known = Object.keys(file?.contexts ?? {}).join(', ') || 'none';
  const where = file?.path ?? contextsPath(env) ?? 'any file';
  throw invalidArgument(
    'bad_config',
    `there is no context '${wanted}' in ${where}; there is ${known}`,
    'BERTH_CONTEXT',
  );
}

/** Keys are flag names, `bus-url: amqp://...`, or variable names. */
function settingsIn(path: string, where: string, of: unknown): Record<string, string> {
  const entries = Object.entries(mapIn(path, where, of));
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (!['string', 'number', 'boolean'].includes(typeof value))
        throw badFile(path, `${where}: ${key} must be one value`);
      const name = key.startsWith('BERTH_') ? key : `BERTH_${key.toUpperCase().replaceAll('-', '_')}`;
      if (CHOOSE_FILES.includes(name)) throw badFile(path, `${where}: ${key} chooses files, and stands in none`);
      return [name, String(value)];
    }),
  );
}

const CHOOSE_FILES: readonly string[] = ['BERTH_CONFIG', 'BERTH_CONTEXT'];

function mapIn(path: string, what: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badFile(path, `${what} must be a map of names to values`);
}

function badFile(path: string, problem: string) {
  return invalidArgument('bad_config', `${path} ${problem}`, 'BERTH_CONFIG');
}
