import type { SourceFile } from './source-files';

/**
 * One arrow of the layout. Patterns name a folder (`libs/domain/`), a file (`libs/placement/open.ts`), a package
 * (`npm:ioredis`), a module of Node (`node:fs`) or a global (`global:Date.now`); `*` is any one step of a path.
 */
export interface Rule {
  /** The rule in words, for the message of a breach. */
  readonly says: string;
  /** Files that the rule binds; `except` exempts some of them. */
  readonly of: readonly string[];
  readonly except?: readonly string[];
  /** Together with `of`, the only files of the repository that they may use. */
  readonly only?: readonly string[];
  /** Files, packages and globals that they may not use. */
  readonly never?: readonly string[];
  /** A forbidden use, `from -> to`, that the check must find: tested for each rule. */
  readonly breach: string;
}

/** Each use that breaks a rule: `libs/domain/clock.ts uses libs/bus/port.ts, but the domain imports nothing`. */
export function breachesOf(rules: readonly Rule[], files: readonly SourceFile[]): string[] {
  return rules.flatMap((rule) =>
    files
      .filter(({ path }) => binds(rule, path))
      .flatMap(({ path, uses }) =>
        uses.filter((use) => isForbidden(rule, use)).map((use) => `${path} uses ${use}, but ${rule.says}`),
      ),
  );
}

/** True if a rule binds a file. */
export function binds({ of, except = [] }: Rule, path: string): boolean {
  return matches(of, path) && !matches(except, path);
}

/**
 * Rules for folders in layers, the lowest first: a folder uses none of its own layer beside it and none above.
 *
 * @param layers  folders or files below `root`
 */
export function layered(says: string, root: string, layers: readonly (readonly string[])[]): Rule[] {
  return layers.flatMap((layer, i) =>
    layer.flatMap((folder) => {
      const above = layers
        .slice(i)
        .flat()
        .filter((other) => other !== folder);
      const [first] = above;
      if (first === undefined) return [];
      const breach = `${root}${fileIn(folder)} -> ${root}${fileIn(first)}`;
      return { says, of: [root + folder], never: above.map((other) => root + other), breach };
    }),
  );
}

function fileIn(pattern: string): string {
  return pattern.endsWith('/') ? `${pattern}made-up.ts` : pattern;
}

function isForbidden({ of, only, never = [] }: Rule, use: string): boolean {
  if (matches(never, use)) return true;
  return only !== undefined && /^(libs|services|test)\//.test(use) && !matches([...of, ...only], use);
}

function matches(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => expressionOf(pattern).test(text));
}

function expressionOf(pattern: string): RegExp {
  const escaped = pattern.replaceAll(/[.+?^$()|[\]{}\\]/g, '\\$&').replaceAll('*', '[^/]+');
  return new RegExp(`^${escaped}${/[/:]$/.test(pattern) ? '' : '$'}`);
}
