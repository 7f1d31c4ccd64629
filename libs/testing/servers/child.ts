import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '../../runtime/system';

const ROOT = join(__dirname, '../../..');
/** Set by `npm test`, which builds first: children then start from `dist` in a third of the time. */
export const RUN_BUILT = 'BERTH_TEST_RUN_BUILT';

/** Compiled code, which a process that ends by itself leaves to the next: they start in three quarters of the time. */
const CACHE = { NODE_COMPILE_CACHE: join(tmpdir(), 'berth-compile-cache') };

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

/** The first URL in a process' log: of this event, if given; on the lines of one process, where `berth up` shows several. */
export function urlIn(child: Pick<Child, 'stdout'> | undefined, event = '', process = ''): string {
  const isMeant = (line: string) => line.startsWith(process) && line.includes(event && `"event":"${event}"`);
  const urls = (child?.stdout() ?? '')
    .split('\n')
    .filter(isMeant)
    .map((line) => /"url":"(http[^"]+)"/.exec(line)?.[1]);
  return urls.find((url) => url !== undefined) ?? '';
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
  const child = spawn(process.execPath, [...programOf(file, root), ...args], {
    cwd: root,
    env: {
      // oxlint-disable-next-line no-restricted-properties -- a child needs PATH, and nothing else of this process
      PATH: process.env['PATH'] ?? '',
      NO_COLOR: '1',
      BERTH_CLAIM_KEY: 'the-claim-key-of-tests',
      ...CACHE,
      ...env,
    },
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

/** Writes a shell command that runs a program of this repository (path from its root), with variables of its own. */
export function writeCommand(command: string, file: string, variables: Readonly<Record<string, string>> = {}): void {
  const settings = Object.entries({ ...CACHE, ...variables }).map(([name, value]) => `${name}='${value}'`);
  const words = [...settings, 'exec', `'${process.execPath}'`, ...programOf(file), '"$@"'];
  writeFileSync(command, `#!/bin/sh\n${words.join(' ')}\n`, { mode: 0o755 });
}

/** Node's arguments for a TypeScript file of this repository, or of another version of it: as source, or as built. */
export function programOf(file: string, root = ROOT): readonly string[] {
  if (root === ROOT && isBuilt()) return [join(root, 'dist', file.replace(/\.ts$/, '.js'))];
  return [...asSources(root), join(root, file)];
}

/** Node's arguments for a script that imports this repository's modules: as sources, or as built. */
export function scriptArguments(): readonly string[] {
  return isBuilt() ? [] : asSources(ROOT);
}

const isBuilt = () => environment()[RUN_BUILT] === 'on';

function asSources(root: string): readonly string[] {
  return ['--conditions=berth-source', '--require', join(root, 'libs/testing/typescript.cjs')];
}
