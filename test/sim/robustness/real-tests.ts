import { readdirSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { environment } from '#libs/runtime/system';
import { writeRecord } from './record';

/** The sources, also for what is built. */
const ROOT = resolve('test', 'faults');
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

/** Records for `npm run robustness` which of these files passed, in the folder that `BERTH_TEST_RECORDS` names, if any. */
export function recordTests(
  files: readonly { readonly path: string; readonly passed: number; readonly failed: number }[],
  { BERTH_TEST_RECORDS: folder } = environment(),
): void {
  if (!folder) return;
  const real = new Set(realTests());
  for (const { path, passed, failed } of files) {
    const file = recordFileOf(resolve(path));
    if (real.has(file)) writeRecord(folder, file, { kind: 'tests', passed, failed });
  }
}
