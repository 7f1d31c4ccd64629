import { spawn } from 'node:child_process';
import { chown } from 'node:fs/promises';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type InstanceFolder, lastWords, openOutput, readPid } from './instance-folder';
import { commandLineOf, type ProcessId } from './proc';

/** A process to start. */
export interface Launch {
  readonly folder: InstanceFolder;
  /** What limits it and then becomes its command; ends with `--`. */
  readonly limits: readonly string[];
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly userId: number | undefined;
  /** How long it must live to count as started. */
  readonly startMs: number;
}

export interface Launched {
  readonly id: ProcessId;
  /** How it ended, in words, once it has. */
  readonly ended: Promise<string>;
}

/** Notes pid and start time, then becomes the command: exec keeps both. Words are arguments, never shell text. */
const NOTE_AND_EXEC = `printf '%s %s\\n' "$$" "$(cut -d' ' -f22 "/proc/$$/stat")" >"$1.new" && mv "$1.new" "$1" && shift && exec "$@"`;
const POLL_MS = 5;
/** Exec takes milliseconds; a command line that still looks like ours after this is the command's own. */
const EXEC_TIMEOUT_MS = 10_000;

/**
 * Starts a process that outlives the agent: in a session of its own, so that no signal to the agent's group and no
 * hang-up of its terminal reaches it. Resolves once it has become its
 * command, under its limits, and lived for `startMs`.
 *
 * @throws BerthError `failed_precondition / not_started` when it ended before; `aborted / cancelled` by the signal, and
 *   the process may live: the caller ends it by its folder.
 */
export async function launch(job: Launch, clock: Clock, signal: AbortSignal): Promise<Launched> {
  const { folder, limits, command, userId } = job;
  if (userId !== undefined) await chown(folder.work, userId, userId);
  const output = await openOutput(folder);
  const child = spawn('/bin/sh', ['-c', NOTE_AND_EXEC, 'sh', folder.pidFile, ...limits, ...command], {
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
  const untilMs = clock.now() + EXEC_TIMEOUT_MS;
  while (!(await isCommandYet()) && !watching.aborted && clock.now() < untilMs) await sleep(clock, POLL_MS, watching);
  await sleep(clock, job.startMs, watching);
  const id = await readPid(folder);
  if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the build was cancelled');
  if (watching.aborted || !id) {
    const message = `${await ended}: ${(await lastWords(folder)) || 'it wrote nothing'}`;
    throw new BerthError('failed_precondition', 'not_started', message);
  }
  return { id, ended };
}
