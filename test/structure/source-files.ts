import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type ParseOptions, parseSync } from '@swc/core';

/** A source file and what it uses, both as the rules name them. */
export interface SourceFile {
  /** From the repository's root: `libs/domain/clock.ts`. */
  readonly path: string;
  /** `libs/domain/clock.ts`, `npm:ioredis`, `node:fs`, `global:process.env`. */
  readonly uses: readonly string[];
}

const ROOT = join(__dirname, '../..');
const TYPESCRIPT: ParseOptions = { syntax: 'typescript', target: 'es2022' };
const TSX: ParseOptions = { ...TYPESCRIPT, tsx: true };

/** The TypeScript files below folders of the repository, by path; tests and generated code among them. */
export function pathsBelow(...folders: readonly string[]): string[] {
  const found = folders.flatMap((folder) => {
    const entries = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    return entries.filter((path) => /\.tsx?$/.test(path)).map((path) => `${folder}/${path}`);
  });
  return found.sort();
}

/** True for shipped files: no tests, no test helpers, nothing generated. */
export function isProduction(path: string): boolean {
  const isTest = path.endsWith('.test.ts') || /\/(testing|stories)\//.test(path);
  return !isTest && !path.includes('/generated/') && !path.startsWith('test/');
}

/** Reads what a file imports, statically or not, types too, and which globals it touches. */
export function readSource(path: string): SourceFile {
  return { path, uses: usesIn(readFileSync(join(ROOT, path), 'utf8'), path) };
}

/** The same of a text that stands, or might stand, at `path`. */
export function usesIn(text: string, path: string): string[] {
  const uses = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const use = useOf(value, path);
    if (use !== undefined) uses.add(use);
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseSync(text, path.endsWith('.tsx') ? TSX : TYPESCRIPT).body);
  return [...uses];
}

/** As much as is read of a node of the syntax tree (of SWC, which jest runs the tests with anyway). */
interface Node {
  readonly type?: string;
  readonly value?: unknown;
  readonly source?: Node | null;
  readonly argument?: Node;
  readonly callee?: Node;
  readonly arguments?: readonly { readonly expression: Node }[];
  readonly object?: Node;
  readonly property?: Node;
}

const GLOBALS = ['process.env', 'Date.now', 'Math.random', 'setTimeout', 'setInterval'];

function useOf(node: Node, path: string): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return targetOf(node.source, path);
    case 'TsImportType':
      return targetOf(node.argument, path);
    case 'CallExpression': {
      const isImport = node.callee?.type === 'Import' || node.callee?.value === 'require';
      return isImport ? targetOf(node.arguments?.[0]?.expression, path) : globalNamed(node.callee?.value);
    }
    case 'MemberExpression':
      return globalNamed(`${String(node.object?.value)}.${String(node.property?.value)}`);
    default:
      return undefined;
  }
}

function globalNamed(name: unknown): string | undefined {
  return GLOBALS.some((known) => known === name) ? `global:${String(name)}` : undefined;
}

function targetOf(source: Node | null | undefined, path: string): string | undefined {
  if (typeof source?.value !== 'string') return undefined;
  const specifier = source.value;
  if (specifier.startsWith('node:')) return specifier;
  if (specifier.startsWith('#generated/'))
    return `libs/contracts/generated/${specifier.slice('#generated/'.length)}.ts`;
  if (specifier.startsWith('#services/')) return `${specifier.slice(1)}.ts`;
  if (specifier.startsWith('#libs/')) return `libs/${specifier.slice('#libs/'.length)}.ts`;
  return specifier.startsWith('.') ? `${posix.join(posix.dirname(path), specifier)}.ts` : `npm:${specifier}`;
}
