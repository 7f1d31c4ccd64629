import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/* A comment names its subject first (CONTRIBUTING.md): it begins with no noun clause. */

const ROOT = join(__dirname, '../..');
const FOLDERS = ['deploy', 'libs', 'proto', 'services', 'test'];
const CODE = /(?<!descriptor)\.(ts|tsx|cjs|mjs|js|css|lua|proto|py|sh|ya?ml|conf|service)$/;
/** The beginning of a comment, not a later line of one, up to the end of its first sentence. */
const CLAUSE =
  /(?<!^[ \t]*(?:\/\/|#|--(?!-)).*\n[ \t]*)(?<=^|[\s{(])(?:\/\/|\/\*\*?|#|--)\s+(?:\* )?((?:What|Who|Whose|Whom|Of|That|Whether|How)\b[^.?]*[.?]?)/gm;

it('begins no comment with a noun clause in place of a noun', () => {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  const written = paths.filter((path) => CODE.test(path) && !/\/(generated|node_modules)\//.test(path));
  const clauses = written.flatMap((path) => {
    return clausesIn(readFileSync(join(ROOT, path), 'utf8')).map((clause) => `${path}: ${clause}`);
  });
  expect(clauses).toEqual([]);
});

it.each([
  ['// Of a host.', ['Of a host.']],
  ['/**\n * What a host has.\n */', ['What a host has.']],
  ['/** How often?', []],
  ['// A host\n// Of a kind.', []],
  ['total: 8\n# That it has', ['That it has']],
])('reads %j', (text, clauses) => {
  expect(clausesIn(text)).toEqual(clauses);
});

function clausesIn(text: string): string[] {
  return [...text.matchAll(CLAUSE)]
    .map(([, clause = '']) => clause.replaceAll(/\s+/g, ' '))
    .filter((one) => !one.endsWith('?'));
}
