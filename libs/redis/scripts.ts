import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A Lua script as the server runs it. */
export interface LuaScript {
  /** The file's name without `.lua`. */
  readonly name: string;
  /** With its includes inserted. */
  readonly source: string;
  /** SHA-1 of the source, in hex, for EVALSHA. */
  readonly sha: string;
  /** Number of KEYS that its header documents. */
  readonly keyCount: number;
  /** True when its header says `@readonly`: it writes nothing. */
  readonly isReadOnly: boolean;
}

const INCLUDE = /^--- @include ([a-z][a-z0-9-]*)$/gm;

/**
 * The scripts of a folder by name. A line `--- @include holder` is replaced by `include/holder.lua` of that folder.
 * Every script starts with a header of `---` lines, which is its contract: purpose, each KEYS, each ARGV, each return.
 */
export function loadScripts<Name extends string>(
  folder: string,
  names: readonly Name[],
): Readonly<Record<Name, LuaScript>> {
  const scripts = names.map((name) => loadScript(folder, name));
  return Object.fromEntries(scripts.map((script) => [script.name, script])) as Record<Name, LuaScript>;
}

function loadScript(folder: string, name: string): LuaScript {
  const text = readFileSync(join(folder, `${name}.lua`), 'utf8');
  const source = text.replaceAll(INCLUDE, (_, included: string) =>
    readFileSync(join(folder, 'include', `${included}.lua`), 'utf8').trimEnd(),
  );
  const keyCount = [...text.matchAll(/^--- KEYS\[\d+\]/gm)].length;
  const sha = createHash('sha1').update(source).digest('hex');
  return { name, source, sha, keyCount, isReadOnly: /^--- @readonly$/m.test(text) };
}
