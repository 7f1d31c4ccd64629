import type { StepResult, TestFile } from './steps';

/** More files than this that fail at once are no accident of a busy machine. */
const MOST_FILES = 3;

/** The files that get a second try, alone: the failed ones, unless they are many. */
export function filesToTryAgain(results: readonly StepResult[]): readonly TestFile[] {
  const failed = results.flatMap(({ files }) => files.filter(isFailed));
  return failed.length > MOST_FILES ? [] : failed;
}

/** The result of a step, with a second try of some of its files in place of their first. */
export function withSecondTry(first: StepResult, again: StepResult): StepResult {
  const tried = new Map(again.files.map((file) => [file.path, file]));
  const replaced = first.files.filter(({ path }) => tried.has(path));
  const change = (key: 'passed' | 'failed') => sum([...tried.values()], key) - sum(replaced, key);
  return {
    ...first,
    passed: first.passed + change('passed'),
    failed: first.failed + change('failed'),
    files: first.files.map((file) => tried.get(file.path) ?? file),
  };
}

export function isFailed({ failed }: TestFile): boolean {
  return failed > 0;
}

function sum(files: readonly TestFile[], key: 'passed' | 'failed'): number {
  return files.reduce((all, file) => all + file[key], 0);
}
