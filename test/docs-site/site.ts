import { posix } from 'node:path';
import { navigationOf, type Section } from './navigation';
import { referencePages } from './reference/pages';
import { type Page, renderPages } from './render';
import { CONTENTS, readSources, type Source } from './repository';

/** The documentation: a page for each Markdown file of the repository, and those that are written from the code. */
export interface Site {
  readonly pages: readonly Page[];
  readonly sections: readonly Section[];
}

/** Reads and renders all of it; writes nothing. `root` is the folder of the repository. */
export async function readSite(root: string): Promise<Site> {
  const reference = await referencePages(root);
  const sources = readSources(root).map((source) =>
    source.path === CONTENTS ? withReference(source, reference) : source,
  );
  const pages = renderPages(root, [...sources, ...reference]);
  return { pages, sections: navigationOf(pages) };
}

/** The table of contents of the repository cannot link to what is not in it. */
function withReference(contents: Source, reference: readonly Source[]): Source {
  // Pages in folders are in the lists of those that are not.
  const listed = reference.map((source) => ({ ...source, path: posix.relative(posix.dirname(CONTENTS), source.path) }));
  const links = listed
    .filter(({ path }) => path.split('/').length === 2)
    .map(({ path, markdown }) => `- [${markdown.split('\n', 1)[0]?.replace('# ', '') ?? ''}](${path})`);
  return { ...contents, markdown: contents.markdown.replace('<!-- reference -->', links.join('\n')) };
}

/** Links and anchors that lead nowhere, as `file: link`. */
export function brokenLinks({ pages }: Site): string[] {
  const anchors = new Map(pages.map(({ address, headings }) => [address, headings.map(({ anchor }) => anchor)]));
  return pages.flatMap(({ source, links }) => {
    const broken = links.filter((link) => {
      if (link.kind !== 'page') return link.kind === 'broken';
      return link.anchor !== '' && !anchors.get(link.address)?.includes(link.anchor);
    });
    return broken.map(({ written }) => `${source.path}: ${written}`);
  });
}

/** Files whose pages neither the navigation nor any page that it leads to links to. */
export function unreachable({ pages, sections }: Site): string[] {
  const reached = new Set([
    'index.html',
    ...sections.flatMap((section) => section.items.map(({ page }) => page.address)),
  ]);
  for (const address of reached) {
    for (const link of pages.find((page) => page.address === address)?.links ?? []) {
      if (link.kind === 'page') reached.add(link.address);
    }
  }
  return pages.filter(({ address }) => !reached.has(address)).map(({ source }) => source.path);
}
