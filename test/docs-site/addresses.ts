import { posix } from 'node:path';
import { CONTENTS } from './repository';

/**
 * Where the page of a Markdown file is, from the root of the site: `services/scheduler/README.md` is `services/scheduler.html`, the
 * table of contents `index.html`, and what stands beside it is at the root.
 */
export function addressOf(path: string): string {
  if (path === CONTENTS) return 'index.html';
  const folder = posix.dirname(CONTENTS);
  const shown = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
  if (shown === 'README.md') return 'berth.html';
  return `${shown.replace(/\/README\.md$/, '').replace(/\.md$/, '')}.html`;
}

/** A link from one page or file of the site to another, both from its root. */
export function linkBetween(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to);
}

/** A path as a link in a file means it, from the root of the repository. */
export function targetOf(from: string, link: string): string {
  const path = posix.normalize(posix.join(posix.dirname(from), decodeURIComponent(link)));
  return path.replace(/\/$/, '');
}
