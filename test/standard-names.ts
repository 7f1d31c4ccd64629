import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compareNames, namesIn, STANDARD_RESOURCE_CLASSES, STANDARD_TRAITS } from '#libs/domain/standard-names';

/*
 * Compares the standard names in this repository with given lists (one name a line):
 *
 *     npm run standard-names -- --traits FILE --classes FILE
 *
 * Exits 1 when a given name is missing here. Names that are only here are listed, but are no failure.
 */
const USAGE = 'usage: npm run standard-names -- [--traits FILE] [--classes FILE]\n';

const { values } = parseArgs({ options: { traits: { type: 'string' }, classes: { type: 'string' } } });
if (values.traits === undefined && values.classes === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
}
check('traits', STANDARD_TRAITS, values.traits);
check('resource classes', STANDARD_RESOURCE_CLASSES, values.classes);

function check(what: string, kept: readonly string[], file: string | undefined): void {
  if (file === undefined) return;
  const { missing, extra } = compareNames(kept, namesIn(readFileSync(file, 'utf8')));
  process.stdout.write(`${what}: ${kept.length} kept, ${missing.length} missing, ${extra.length} extra\n`);
  for (const name of missing) process.stdout.write(`  missing ${name}\n`);
  for (const name of extra) process.stdout.write(`  extra   ${name}\n`);
  if (missing.length > 0) process.exitCode = 1;
}
