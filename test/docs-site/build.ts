import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { layOut } from './layout';
import { searchIndex } from './search-index';
import { readSite } from './site';
import { styleOf } from './style';

/* Part of `npm run build`: writes the documentation to where the console serves it from. */

const ROOT = process.cwd();
const OUT = join(ROOT, 'dist/services/console/public/docs');

async function main(): Promise<void> {
  const { pages, sections } = await readSite(ROOT);
  rmSync(OUT, { recursive: true, force: true });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(OUT, path)), { recursive: true });
    writeFileSync(join(OUT, path), text);
  };
  for (const page of pages) write(page.address, layOut(page, sections));
  write('docs.css', styleOf(ROOT));
  write('search.json', JSON.stringify(searchIndex(pages)));
  cpSync(join(OUT, '../docs-search.js'), join(OUT, 'search.js'));
  cpSync(join(ROOT, 'services/console/web/icon.svg'), join(OUT, 'icon.svg'));
  for (const link of pages.flatMap(({ links }) => links)) {
    if (link.kind === 'picture') cpSync(join(ROOT, link.path), join(OUT, link.path));
  }
}

main().catch((thrown: unknown) => {
  process.stderr.write(`the documentation is not built: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
  process.exit(1);
});
