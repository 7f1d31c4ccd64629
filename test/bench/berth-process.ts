import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environment } from '#libs/runtime/system';

const CLI = join(__dirname, '../../services/cli/main.js');
/** The options of `deploy/`. */
const NODE_OPTIONS: Readonly<Record<string, string>> = {
  scheduler: '--max-semi-space-size=64',
  'nova-scheduler': '--max-semi-space-size=64',
  'placement-api': '--max-semi-space-size=64',
};
const running = new Set<ChildProcess>();

// No process outlives the run, however it ends (`run.ts` turns signals into exits).
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a command of `berth` as a process that logs errors only, to stderr. It inherits node's own flags:
 * `node --cpu-prof dist/test/bench/run.js ...` writes a profile of each process that is ended by SIGTERM.
 */
export function startBerth(command: string, env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, CLI, command], {
    env: {
      ...environment(),
      NODE_OPTIONS: NODE_OPTIONS[command] ?? '',
      BERTH_LOG_LEVEL: 'error',
      BERTH_CLAIM_KEY: 'the-claim-key-of-benchmarks',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Kills all processes; resolves when they have ended. */
export async function endAllBerth(): Promise<void> {
  await Promise.all([...running].map((child) => endBerth(child, 'SIGKILL')));
}

/** True when the process with this operations port is ready; false without an answer. */
export async function isReady(operationsPort: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${operationsPort}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}

/** The text of a process's `/metrics`, by `host:port`. */
export async function metricsAt(address: string): Promise<string> {
  return (await fetch(`http://${address}/metrics`)).text();
}

/** The sum of a metric over all its series, or over those with a label: `outcome="accepted"`. */
export function sumOf(metrics: string, name: string, label = ''): number {
  const lines = metrics.matchAll(new RegExp(`^${name}(?:\\{.*${label}.*\\})? (\\S+)`, 'gm'));
  return [...lines].reduce((all, [, value]) => all + Number(value), 0);
}

/** Sends the signal; resolves when the process has ended. */
export async function endBerth(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
