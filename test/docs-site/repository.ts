import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A Markdown text, and where it stands: from the root of the repository, with `/`. */
export interface Source {
  readonly path: string;
  readonly markdown: string;
  /** Written by the build from the code: no such file is in the repository. */
  readonly isGenerated: boolean;
}

/** The table of contents, which is the navigation, too; in its folder stands what describes no folder in particular. */
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

/** Whether a path of the repository is a file or a folder. */
export function isThere(root: string, path: string): boolean {
  return existsSync(join(root, path));
}
