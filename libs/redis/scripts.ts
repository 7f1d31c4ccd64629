import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BerthError } from '../domain/errors';

/** A Lua script as the server runs it. */
export interface LuaScript {
  /** The file's name without `.lua`. */
  readonly name: string;
  /** With its includes in place. */
  readonly source: string;
  /** How many KEYS its header documents. */
  readonly keyCount: number;
}

const INCLUDE = /^--- @include ([a-z][a-z0-9-]*)$/gm;

/**
 * The scripts of a folder by name. A line `--- @include capacity` is replaced by `include/capacity.lua` of that folder.
 * Every script starts with a header of `---` lines, which is its contract: purpose, each KEYS, each ARGV, each return.
 *
 * @throws BerthError `internal / bad_script` when a header and its script disagree.
 */
export function loadScripts<Name extends string>(
  folder: string,
  names: readonly Name[],
): Readonly<Record<Name, LuaScript>> {
  const scripts = names.map((name) => loadScript(folder, name));
  return Object.fromEntries(scripts.map((script) => [script.name, script])) as Record<Name, LuaScript>;
}

/** Names of all scripts in a folder. */
export function scriptNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => basename(file, '.lua'));
}

function loadScript(folder: string, name: string): LuaScript {
  const text = readFileSync(join(folder, `${name}.lua`), 'utf8');
  const source = text.replaceAll(INCLUDE, (_, included: string) =>
    readFileSync(join(folder, 'include', `${included}.lua`), 'utf8').trimEnd(),
  );
  const problems = headerProblems(text, source);
  if (problems.length > 0) throw new BerthError('internal', 'bad_script', `${name}.lua: ${problems.join('; ')}`);
  return { name, source, keyCount: documented(text, 'KEYS').length };
}

/**
 * What is wrong between a script's header and its body: keys or arguments that are used but not documented, documented
 * but not used, numbered with gaps, or no word on what it returns. `ARGV[n..]` documents the rest of the arguments.
 */
export function headerProblems(text: string, source = text): string[] {
  const problems: string[] = [];
  if (!/^--- [A-Z]/.test(text)) problems.push('the first line must say what it does');
  if (!/^--- @return \S/m.test(text)) problems.push('the header does not say what it returns');
  const body = source.replaceAll(/^\s*--.*$/gm, '');
  const [keys, args] = (['KEYS', 'ARGV'] as const).map((array) => {
    const inHeader = documented(text, array);
    const inBody = [...new Set([...body.matchAll(new RegExp(`${array}\\[(\\d+)\\]`, 'g'))].map((m) => Number(m[1])))];
    if (inHeader.some((n, i) => n !== i + 1)) problems.push(`${array} are not documented from 1 without gaps`);
    for (const n of inBody) if (!inHeader.includes(n)) problems.push(`${array}[${n}] is not documented`);
    return { inHeader, inBody };
  });
  for (const n of keys?.inHeader ?? []) if (!keys?.inBody.includes(n)) problems.push(`KEYS[${n}] is not used`);
  const rest = /^--- ARGV\[(\d+)\.\.\]/m.exec(text);
  for (const n of args?.inHeader ?? []) {
    if (!args?.inBody.includes(n) && Number(rest?.[1]) !== n) problems.push(`ARGV[${n}] is not used`);
  }
  return problems;
}

function documented(text: string, array: 'KEYS' | 'ARGV'): number[] {
  return [...text.matchAll(new RegExp(`^--- ${array}\\[(\\d+)(?:\\.\\.)?\\] +\\S`, 'gm'))].map((m) => Number(m[1]));
}
