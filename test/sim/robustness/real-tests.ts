import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

const ROOT = join(__dirname, '..', '..', 'faults');
const SUFFIX = '.test.ts';

/** All tests that break real servers, by the names of their files of records: `store-power-loss`. */
export function realTests(): readonly string[] {
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => recordFileOf(join(ROOT, file)))
    .toSorted();
}

/** The file of records of a test, by the path of the test. */
export function recordFileOf(testPath: string): string {
  return relative(ROOT, testPath)
    .slice(0, -SUFFIX.length)
    .split(sep)
    .filter((part) => part !== '..')
    .join('-');
}
