import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { environment } from '#libs/runtime/system';

/** A part of a test run: a check, or all tests of a kind. */
export interface Step {
  readonly name: string;
  /** @param niceness  of its processes: 0, or more so that they give way to others */
  run(niceness: number): Promise<StepResult>;
}

/** The result of one step of the test run. A static check counts as one test. */
export interface StepResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** Its output without what passed, shown when something failed or was skipped. */
  readonly output: string;
  readonly files: readonly TestFile[];
}

export interface TestFile {
  readonly path: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  /** Jest's text about the tests that failed, or about why the file can not be loaded. */
  readonly failure: string;
}

/** Settings and niceness of the programs of a step. */
export interface Running {
  /** Settings, beside those of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly niceness: number;
}

/** A check that passes or fails as a whole, by its exit code. */
export async function runCheck(
  name: string,
  bin: string,
  args: readonly string[],
  running: Running,
): Promise<StepResult> {
  const { exitCode, output, seconds } = await run(bin, args, running);
  return checked(name, exitCode === 0, { output, seconds });
}

/** The result of a check, which counts as one test. */
export function checked(
  name: string,
  isPassed: boolean,
  { output, seconds }: Pick<StepResult, 'output' | 'seconds'>,
): StepResult {
  const passed = isPassed ? 1 : 0;
  return { name, passed, failed: 1 - passed, skipped: 0, seconds, output, files: [] };
}

/** Jest prints this when all tests have run and something that they left open keeps its process alive. */
const LEFT_OPEN = 'Jest did not exit';
const LEFT_OPEN_GRACE_MS = 20_000;

/**
 * Runs jest on some of the tests, each of which counts. A file that cannot be loaded counts as one failure, and so does
 * something left open that keeps jest from ending.
 *
 * @param onFile  called with jest's line for each test file that passed or failed
 */
export async function runJest(
  name: string,
  args: readonly string[],
  running: Running,
  onFile: (line: string) => void,
): Promise<StepResult> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-jest-'));
  const file = join(folder, 'results.json');
  let isLeftOpen = false;
  try {
    const { exitCode, output, seconds } = await run(
      'jest',
      [...args, '--json', '--outputFile', file],
      running,
      (line, jest) => {
        if (/^(PASS|FAIL) /.test(line)) onFile(line);
        if (!line.includes(LEFT_OPEN)) return;
        const timer = setTimeout(() => {
          isLeftOpen = jest.kill('SIGKILL');
        }, LEFT_OPEN_GRACE_MS);
        jest.on('exit', () => clearTimeout(timer));
      },
    );
    const results = await readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as JestResults,
      () => undefined,
    );
    // Without results jest itself failed, for example in its global setup.
    if (results === undefined) return { name, passed: 0, failed: 1, skipped: 0, seconds, output, files: [] };
    const failures = results.numFailedTests + results.numRuntimeErrorTestSuites;
    // A test that failed may have left it open; its file fails again, or does not, by itself.
    const failed = failures === 0 && isLeftOpen ? 1 : failures;
    return {
      name,
      passed: results.numPassedTests,
      failed: exitCode !== 0 && failed === 0 ? 1 : failed,
      skipped: results.numPendingTests + results.numTodoTests,
      seconds,
      files: results.testResults.map(testFile),
      output: isLeftOpen ? `${output}\nSomething was left open; jest was killed.\n` : output,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface JestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly JestFile[];
}

interface JestFile {
  readonly name: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly status: 'passed' | 'failed' | 'focused';
  readonly message: string;
  readonly assertionResults: readonly { readonly status: string }[];
}

function testFile({ name, startTime, endTime, status, message, assertionResults }: JestFile): TestFile {
  const count = (of: string) => assertionResults.filter((test) => test.status === of).length;
  return {
    path: relative(process.cwd(), name),
    seconds: (endTime - startTime) / 1000,
    passed: count('passed'),
    // A file that can not be loaded has no tests, and counts as one.
    failed: status === 'failed' ? Math.max(1, count('failed')) : 0,
    failure: status === 'failed' ? message : '',
  };
}

/** Runs a tool of node_modules/.bin in the repository's root and collects its output. */
async function run(
  bin: string,
  args: readonly string[],
  { env, niceness }: Running,
  onLine: (line: string, child: ChildProcess) => void = () => {},
) {
  const startedMs = performance.now();
  const [command, ...words] = withNiceness(niceness, [join('node_modules', '.bin', bin), ...args]);
  const child = spawn(command, words, {
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  // Jest prints the JSON of the results file to stdout, too.
  if (bin === 'jest') child.stdout.resume();
  else child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const errors = createInterface({ input: child.stderr });
  errors.on('line', (line) => {
    if (!line.startsWith('PASS ')) chunks.push(`${line}\n`);
    onLine(line, child);
  });
  const exitCode = await new Promise<number>((resolve) => {
    child.on('error', (error) => {
      chunks.push(`${bin}: ${error.message}; run 'npm ci' first\n`);
      resolve(1);
    });
    child.on('close', (code) => resolve(code ?? 1));
  });
  return { exitCode, output: chunks.join(''), seconds: (performance.now() - startedMs) / 1000 };
}

/** A command line that runs another one with a niceness, which its children inherit. */
export function withNiceness(niceness: number, line: readonly [string, ...string[]]): readonly [string, ...string[]] {
  return niceness === 0 ? line : ['nice', '-n', String(niceness), ...line];
}
