import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { environment } from '../../runtime/system';

const ROOT = join(__dirname, '../../..');
/** Set by `npm test`, which builds first: children then start from `dist` in a third of the time. */
export const RUN_BUILT = 'BERTH_TEST_RUN_BUILT';

/** A Berth process with its output so far. */
export interface Child {
  readonly process: ChildProcess;
  /** Everything on stdout, so far. */
  stdout(): string;
  stderr(): string;
  /** Waits for a text on stdout, after an offset, or on stderr; fails when the process ends without it. */
  says(text: string | RegExp, after?: number): Promise<void>;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/**
 * Starts a TypeScript file of this repository (path from its root), or of another version of it, as a process: from
 * source, or built. `env` is its whole environment besides PATH and a claim key.
 */
export function startChild(
  file: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  root = ROOT,
): Child {
  const child = spawn(process.execPath, [...program(file, root), ...args], {
    cwd: root,
    // oxlint-disable-next-line no-restricted-properties -- a child needs PATH, and nothing else of this process
    env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1', BERTH_CLAIM_KEY: 'the-claim-key-of-tests', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    for (const listener of listeners) listener();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    for (const listener of listeners) listener();
  });
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const hasSaid = (text: string | RegExp, after: number) => {
    const said = stdout.slice(after) + stderr;
    return typeof text === 'string' ? said.includes(text) : text.test(said);
  };
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    exit,
    says: (text, after = 0) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!hasSaid(text, after)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void exit.then(() => reject(new Error(`it ended without saying ${text}:\n${stdout}${stderr}`)));
      }),
  };
}

function program(file: string, root: string): readonly string[] {
  if (root === ROOT && environment()[RUN_BUILT] === 'on') return [join(root, 'dist', file.replace(/\.ts$/, '.js'))];
  return ['--conditions=berth-source', '--require', join(root, 'libs/testing/typescript.cjs'), join(root, file)];
}
