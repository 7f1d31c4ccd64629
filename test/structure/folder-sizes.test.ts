import { posix } from 'node:path';
import { pathsBelow } from './source-files';

/** The files that a reader can survey at once. */
const MOST_FILES = 15;

/** Folders with more files, and the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'libs/contracts': 'a file for each group of messages, and the few things that codecs share',
  'libs/runtime': 'what every process has, one thing a file: nobody reads it as a whole',
};

const crowded = new Map(Object.entries(countsByFolder()).filter(([, count]) => count > MOST_FILES));

it('has no folder with more source files beside each other than a reader takes in', () => {
  const found = [...crowded].filter(([folder]) => EXCEPTIONS[folder] === undefined);
  expect(found.map(([folder, count]) => `${folder}: ${count} files, ${MOST_FILES} are the most`)).toEqual([]);
});

it('makes no exception that is not needed', () => {
  expect(Object.keys(EXCEPTIONS).filter((folder) => !crowded.has(folder))).toEqual([]);
});

/** In test/, tests count as sources; beside sources they don't. */
function countsByFolder(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const path of pathsBelow('libs', 'services', 'test')) {
    if (path.includes('/generated/') || (path.endsWith('.test.ts') && !path.startsWith('test/'))) continue;
    const folder = posix.dirname(path);
    counts[folder] = (counts[folder] ?? 0) + 1;
  }
  return counts;
}
