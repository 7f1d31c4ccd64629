import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The site's style sheet: the console's colours, and its own rules. The console keeps a choice of theme in a script; here the
 * system's is taken.
 *
 * @throws Error when the console's style sheet does not begin with its two palettes
 */
export function styleOf(root: string): string {
  const console = readFileSync(join(root, 'services/console/web/main.css'), 'utf8');
  const [, light, dark] = /^:root \{([^}]*)\}\n:root\[data-theme="dark"\] \{([^}]*)\}/.exec(console) ?? [];
  if (light === undefined || dark === undefined) throw new Error('main.css does not begin with its two palettes');
  const own = readFileSync(join(root, 'test/docs-site/docs.css'), 'utf8');
  return `:root {${light}}\n@media (prefers-color-scheme: dark) {\n:root {${dark}}\n}\n${own}`;
}
