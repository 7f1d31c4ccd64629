import { spawn } from 'node:child_process';
import { chown } from 'node:fs/promises';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Fence } from '../fenced';
import { type InstanceFolder, openOutput, outputTail, readPid } from './instance-folder';
import { commandLineOf, type ProcessId } from './proc';

/** A process to start. */
export interface Launch {
  readonly folder: InstanceFolder;
  /** The command that applies its limits and then execs its own command; ends with `--`. */
  readonly limits: readonly string[];
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly userId: number | undefined;
  /** Time in milliseconds that it must live to count as started. */
  readonly startMs: number;
  /** Called last before it starts. */
  readonly fence?: Fence | undefined;
}

/** A process that has started. */
export interface Launched {
  readonly id: ProcessId;
  /** Resolves when it ends, to a sentence with the cause. */
  readonly ended: Promise<string>;
}

/**
 * Writes pid and start time, then execs the command, which keeps both. The command comes as arguments, never as shell
 * text.
 */
const WRITE_PID_AND_EXEC = `printf '%s %s\\n' "$$" "$(cut -d' ' -f22 "/proc/$$/stat")" >"$1.new" && mv "$1.new" "$1" && shift && exec "$@"`;
const POLL_MS = 5;
/**
 * Time limit of the exec, which takes milliseconds: if the command line still looks like the shell's afterwards, it is
 * the command's own.
 */
const EXEC_TIMEOUT_MS = 10_000;

/**
 * Starts a process that outlives the agent: in its own session, out of reach of signals to the agent's group and
 * hang-ups of its terminal. Resolves once it has exec'ed its command, under its limits, and lived for `startMs`.
 *
 * @throws BerthError `failed_precondition / not_started` when it ended before that; `aborted / cancelled` by the
 *   signal. The process may be alive then: the caller ends it by its folder.
 */
export async function launch(job: Launch, clock: Clock, signal: AbortSignal): Promise<Launched> {
  const { folder, limits, command, userId } = job;
  if (userId !== undefined) await chown(folder.work, userId, userId);
  const output = await openOutput(folder);
  job.fence?.();
  const child = spawn('/bin/sh', ['-c', WRITE_PID_AND_EXEC, 'sh', folder.pidFile, ...limits, ...command], {
    cwd: folder.work,
    env: job.env,
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  });
  const over = new AbortController();
  const watching = AbortSignal.any([signal, over.signal]);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
    child.once('exit', (code, by) =>
      resolve(by === null ? `it ended with exit code ${code}` : `it was ended by ${by}`),
    );
  });
  void ended.then(() => over.abort());
  child.unref();
  await output.close();

  const isCommandYet = async () => {
    const pid = (await readPid(folder))?.pid;
    const line = pid === undefined ? undefined : await commandLineOf(pid);
    return line !== undefined && !line.endsWith(`\0--\0${command.join('\0')}\0`);
  };
  const untilMs = clock.elapsed() + EXEC_TIMEOUT_MS;
  while (!(await isCommandYet()) && !watching.aborted && clock.elapsed() < untilMs)
    await sleep(clock, POLL_MS, watching);
  await sleep(clock, job.startMs, watching);
  const id = await readPid(folder);
  if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
  if (watching.aborted || !id) {
    const message = `${await ended}: ${(await outputTail(folder)) || 'it wrote nothing'}`;
    throw new BerthError('failed_precondition', 'not_started', message);
  }
  return { id, ended };
}
