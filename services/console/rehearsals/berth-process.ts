import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Environment } from '#libs/runtime/system';
import { argumentsOf, type RehearsalLine } from './command-line';

/** Starts `berth rehearse` as a process of its own, which reads the fleet and changes nothing. */
export type StartBerth = (line: RehearsalLine, onProgress: (done: number, all: number) => void) => BerthProcess;

export interface BerthProcess {
  /** Never rejects. */
  readonly ended: Promise<BerthEnd>;
  /** Ends it at once. */
  stop(): void;
}

export interface BerthEnd {
  /** Undefined for a process that did not start, or that a signal ended. */
  readonly code: number | undefined;
  readonly out: string;
  /** The end of what it said on standard error. */
  readonly err: string;
  readonly isTooLong: boolean;
}

export interface BerthProgram {
  /** The program for Node, with flags of Node before it: `dist/services/cli/main.js`. What runs now unless given. */
  readonly program?: readonly string[] | undefined;
  readonly env: Environment;
  /** V8's heap: a rehearsal that needs more fails, and not the console beside it. */
  readonly memoryMb: number;
  /** A saved fleet for its standard input; without it the process reads the store. */
  readonly fleet?: () => Promise<string>;
}

/** Bytes of a report that are kept. */
const MAX_OUT_BYTES = 8 * 1024 * 1024;
const MAX_ERR_CHARS = 8_192;
/** Below services: a rehearsal takes the processor time that they leave. */
const NICENESS = 5;

const OWN_PROGRAM = [...process.execArgv, process.argv[1] ?? ''];

/** Berth's own command line as the program. */
export function berthProcesses({ program = OWN_PROGRAM, env, memoryMb, fleet }: BerthProgram): StartBerth {
  return (line, onProgress) => {
    const flags = [...line.flags, '--json', '--jobs=1', ...(fleet ? ['--from=-'] : [])];
    const argv = [`--max-old-space-size=${memoryMb}`, ...program, ...argumentsOf({ ...line, flags })];
    const child = spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'pipe', 'ipc'] });
    const out: Buffer[] = [];
    let size = 0;
    let err = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUT_BYTES) child.kill('SIGKILL');
      else out.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      err = (err + chunk.toString()).slice(-MAX_ERR_CHARS);
    });
    child.on('message', (message: { readonly done?: number; readonly all?: number }) => {
      if (typeof message.done === 'number' && typeof message.all === 'number') onProgress(message.done, message.all);
    });
    // A process that ends early closes its input.
    child.stdin?.on('error', () => {});
    yieldTo(child.pid);
    const stop = () => void child.kill('SIGKILL');
    (fleet?.() ?? Promise.resolve('')).then((text) => child.stdin?.end(text), stop);
    const ended = new Promise<BerthEnd>((resolve) => {
      const end = (code: number | undefined, why = '') =>
        resolve({ code, out: Buffer.concat(out).toString(), err: err + why, isTooLong: size > MAX_OUT_BYTES });
      child.on('error', (error) => end(undefined, error.message));
      child.on('close', (code) => end(code ?? undefined));
    });
    return { ended, stop };
  };
}

function yieldTo(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS);
  } catch {
    // It has ended already, or the system forbids it.
  }
}
