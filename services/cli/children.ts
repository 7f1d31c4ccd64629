import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Environment } from '#libs/runtime/system';
import type { Context } from './context';

/** One process to start: `berth` with these arguments. */
export interface ChildService {
  /** In front of each of its lines. */
  readonly name: string;
  readonly args: readonly string[];
}

export interface Children {
  /** The first that ends without being told to. */
  readonly ended: Promise<{ readonly name: string; readonly how: string }>;
  /** Tells all to stop and waits until they have. */
  stop(): Promise<void>;
}

/**
 * Starts `berth` processes whose lines come out here, each with its name in front. They have a process group of their
 * own, so that Ctrl-C reaches only this process, which then stops them in order; and a channel to this process, so that
 * they stop by themselves when it is killed (`runService` listens).
 */
export function startChildren(context: Context, services: readonly ChildService[], env: Environment): Children {
  const { terminal } = context;
  const width = Math.max(...services.map(({ name }) => name.length));
  const colours = [terminal.colours.cyan, terminal.colours.magenta, terminal.colours.yellow, terminal.colours.blue];
  const children = services.map(({ name, args }, i) => {
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
      env: { ...env, BERTH_PROCESS_NAME: name, BERTH_HTTP_PORT: '0', BERTH_LOG_FORMAT: formatFor(context) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    const prefix = (colours[i % colours.length] ?? String)(`${name.padEnd(width)} |`);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => terminal.print(`${prefix} ${line}`));
    }
    return { name, child, end: endOf(child) };
  });
  return {
    ended: Promise.race(children.map(async ({ name, end }) => ({ name, how: await end }))),
    async stop() {
      // The reverse of the order in which they were started: agents first, so that nobody waits for an answer.
      for (const { child } of children.toReversed()) child.kill('SIGTERM');
      await Promise.all(children.map(({ end }) => end));
    },
  };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

/** On a terminal people read; otherwise lines stay as they are, for whatever collects them. */
function formatFor({ env, terminal }: Context): string {
  return env['BERTH_LOG_FORMAT'] ?? (terminal.isInteractive ? 'pretty' : 'json');
}
