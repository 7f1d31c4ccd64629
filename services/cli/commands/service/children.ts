import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { endsWithin } from '#libs/runtime/ends-within';
import type { Environment } from '#libs/runtime/system';
import type { Context } from '../../context';

/** A process to start: `berth` with these arguments. */
export interface ChildService {
  /** Prefix of each line of its output. */
  readonly name: string;
  readonly args: readonly string[];
}

/** Time of agents to release their hosts before the others are stopped. */
const AGENTS_END_MS = 5_000;

/**
 * Starts `berth` processes and prints their output, each line with the process's name. Each has its own process group,
 * so that Ctrl-C reaches only this process, which then stops them in order, and an IPC channel, so that it stops by
 * itself when this process is killed (`runService` listens).
 */
export function startChildren(context: Context, services: readonly ChildService[], env: Environment) {
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
    const isAgent = args[0] === 'compute-agent';
    return { name, isAgent, child, end: endOf(child), ready: once(child, 'message') };
  });
  // A failed spawn is an end.
  const allReady = Promise.all(children.map(({ ready }) => ready)).then(() => endOfTurn(), never);
  return {
    /** Resolves when every process can work (`runService` sends a message), and its earlier lines are printed. */
    ready: allReady,
    /** The first process to end, and its end. */
    ended: Promise.race(children.map(async ({ name, end }) => ({ name, how: await end }))),
    /** Stops all processes and waits for their end. Agents first: a scheduler takes back the hosts that they hold. */
    async stop(): Promise<void> {
      const stop = async (areAgents: boolean) => {
        const these = children.filter(({ isAgent }) => isAgent === areAgents);
        for (const { child } of these) child.kill('SIGTERM');
        await Promise.all(these.map(({ end }) => end));
      };
      const agents = stop(true);
      await endsWithin(agents, AGENTS_END_MS, context.clock);
      await Promise.all([agents, stop(false)]);
    },
  };
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

/** Pretty on a terminal; JSON for a log collector. */
function formatFor({ env, terminal }: Context): string {
  return env['BERTH_LOG_FORMAT'] ?? (terminal.isInteractive ? 'pretty' : 'json');
}
