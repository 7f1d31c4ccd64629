import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A Markdown text and its path, from the root of the repository, with `/`. */
export interface Source {
  readonly path: string;
  readonly markdown: string;
  /** Written by the build from the code: the repository has no such file. */
  readonly isGenerated: boolean;
}

/** The table of contents, which is also the navigation; its folder has the pages that describe no other folder. */
export const CONTENTS = 'services/console/docs/README.md';

const FOLDERS = ['deploy', 'libs', 'proto', 'services', 'test'];

/** Every Markdown file of the repository, by path. */
export function readSources(root: string): Source[] {
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return [...readdirSync(root), ...below]
    .filter((path) => path.endsWith('.md'))
    .sort()
    .map((path) => ({ path, markdown: readFileSync(join(root, path), 'utf8'), isGenerated: false }));
}

/** True if a path of the repository is a file or a folder. */
export function isThere(root: string, path: string): boolean {
  return existsSync(join(root, path));
}
