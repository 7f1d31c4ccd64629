import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Served } from './sim/command/serve';
import { checked, type StepResult, withNiceness } from './steps';

/** Most of what a run allocates is garbage at once: with a larger nursery less of it is copied. */
const NURSERY = '--max-semi-space-size=32';

let serving: { readonly process: ChildProcess; said: string } | undefined;

/**
 * Runs a command line of `npm run sim`. One process with its threads serves all of a test run, since loading and compiling Berth takes
 * them as long as two seeds. A process that ends fails its step; the next step has another.
 */
export async function runSimulation(name: string, args: readonly string[], niceness: number): Promise<StepResult> {
  const startedMs = performance.now();
  if (serving === undefined || isOver(serving.process)) serving = serve(niceness);
  const { process: child } = serving;
  child.send(args);
  const ending = new AbortController();
  const { signal } = ending;
  const { exitCode, output } = await Promise.race([
    once(child, 'message', { signal }).then(([served]) => served as Served),
    once(child, 'close', { signal }).then((): Served => ({ exitCode: 1, output: serving?.said ?? '' })),
  ]);
  ending.abort();
  return checked(name, exitCode === 0, { output, seconds: (performance.now() - startedMs) / 1000 });
}

function serve(niceness: number) {
  const file = join(__dirname, 'sim/command/serve.js');
  const [command, ...words] = withNiceness(niceness, [process.execPath, NURSERY, file]);
  const child = spawn(command, words, { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  const started = { process: child, said: '' };
  child.stderr?.on('data', (chunk: Buffer) => {
    started.said += chunk.toString();
  });
  return started;
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
