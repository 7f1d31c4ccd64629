import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environment } from '#libs/runtime/system';

const CLI = join(__dirname, '../../services/cli/main.js');
const running = new Set<ChildProcess>();

// However a run ends (`run.ts` makes exits of signals), nothing of it stays behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a command of `berth` as a process that says errors only, on stderr. It gets node's own flags of this process:
 * `node --cpu-prof dist/test/bench/run.js ...` writes a profile of each process that is ended by SIGTERM.
 */
export function startBerth(command: string, env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, CLI, command], {
    env: { ...environment(), BERTH_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Whether a process that was given this port for its operations says that it is ready; false while it does not answer. */
export async function isReady(operationsPort: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${operationsPort}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}

/** Resolves when the process is gone. */
export async function endBerth(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
