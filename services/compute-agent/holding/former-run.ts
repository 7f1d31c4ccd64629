import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId } from '../drivers/process/proc';
import { replaceFile } from '../host/journal';

/** The run of this agent before, as its state folder remembers it. */
export interface FormerRun {
  /** Its id, when it is surely dead: its hosts need not be waited for. Undefined when that can't be told. */
  readonly id: string | undefined;
  /** Notes that a run holds the hosts now. */
  remember(id: string): Promise<void>;
  close(): Promise<void>;
}

/** Of an agent without a state folder: nothing is known. */
export const noFormerRun: FormerRun = { id: undefined, async remember() {}, async close() {} };

/** What a folder says of the run that held the hosts last. */
interface Note {
  readonly run: string;
  /** Of the boot in which it ran, and of the lock's file: a copy of the folder has another, a clone of the machine both. */
  readonly bootId: string;
  readonly file: string;
}

/**
 * Tells whether the run before is dead, so that an agent which crashed has its hosts back at once.
 *
 * The naive way is to ask for the hosts in the name of the run that the folder remembers. It fails when the folder was
 * copied while that run lives: two runs at work on the same instances. So the word of the folder counts only for the
 * process that holds its lock, which the kernel takes from a process when it dies; only in the boot in which it was
 * written, as a cloned machine boots anew; and only for the very file that was locked, as a copy is another. In doubt the
 * lease is waited for. It costs a helper process, `flock` of util-linux, because Node can't lock files.
 *
 * @param folder  of the agent alone
 */
export async function openFormerRun(folder: string): Promise<FormerRun> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lockFile = join(folder, 'holder.lock');
  await (await open(lockFile, 'a', 0o600)).close();
  const unlock = await lock(lockFile);
  if (!unlock) return noFormerRun;
  const noteFile = join(folder, 'holder.json');
  const { dev, ino } = await stat(lockFile);
  const here = { bootId: await bootId().catch(() => ''), file: `${dev} ${ino}` };
  const note = await readNote(noteFile);
  const isHere = here.bootId !== '' && note?.bootId === here.bootId && note.file === here.file;
  return {
    id: isHere ? note.run : undefined,
    remember: (run) => replaceFile(noteFile, { run, ...here } satisfies Note),
    close: unlock,
  };
}

/** True when a process that lives has a lock; not when there is none, or nothing here can lock. */
export async function isLocked(file: string): Promise<boolean> {
  if (!(await stat(file).catch(() => undefined))) return false;
  const unlock = await lock(file);
  await unlock?.();
  return unlock === undefined;
}

/** Resolves to how the lock is given back; undefined when another process has it, or nothing here can lock. */
async function lock(file: string): Promise<(() => Promise<void>) | undefined> {
  // It ends with its input, which ends with this process, however this process ends. Away from the terminal's signals.
  const helper = spawn('flock', ['-n', file, 'sh', '-c', 'echo locked; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const exited = new Promise<void>((resolve) => {
    helper.once('error', () => resolve());
    helper.once('exit', () => resolve());
  });
  const isOurs = await Promise.race([once(helper.stdout, 'data').then(() => true), exited.then(() => false)]);
  if (!isOurs) return undefined;
  helper.unref();
  return async () => {
    helper.stdin.end();
    await exited;
  };
}

async function readNote(file: string): Promise<Note | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Note;
  } catch {
    return undefined;
  }
}
