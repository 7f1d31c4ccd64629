import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId } from '../drivers/process/proc';
import { replaceFile } from '../host/journal';

/** The former run of this agent, as recorded in its state folder. */
export interface FormerRun {
  /** Its id, if it is certainly dead: its hosts are free at once. Undefined in doubt. */
  readonly id: string | undefined;
  /** Records the run that holds the hosts now. */
  remember(id: string): Promise<void>;
  close(): Promise<void>;
}

/** For an agent without a state folder: nothing is known. */
export const noFormerRun: FormerRun = { id: undefined, async remember() {}, async close() {} };

/** The folder's record of its last holder. */
interface Note {
  readonly run: string;
  /**
   * The boot in which it ran, and its lock's file: a copied folder has another file, a cloned machine another boot as
   * well.
   */
  readonly bootId: string;
  readonly file: string;
}

/**
 * Decides whether the former run is dead, so that a crashed agent gets its hosts back at once.
 *
 * The naive way is to request the hosts in the name of the recorded run. It fails when the folder was copied while that
 * run lives: two runs would work on the same instances. So the record counts only for the process that holds its lock,
 * which the kernel takes from a process when it dies; only in the boot in which it was written, as a cloned machine
 * boots anew; and only for the very file that was locked, as a copy is another. In doubt the agent waits for the lease
 * to expire. The cost is a helper process, `flock` of util-linux, because Node can't lock files.
 *
 * @param folder  private to the agent
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

/** True when a live process has a lock; false without one, or when nothing here can lock. */
export async function isLocked(file: string): Promise<boolean> {
  if (!(await stat(file).catch(() => undefined))) return false;
  const unlock = await lock(file);
  await unlock?.();
  return unlock === undefined;
}

/** Resolves to the unlock function; undefined when another process has the lock, or nothing here can lock. */
async function lock(file: string): Promise<(() => Promise<void>) | undefined> {
  // It ends when its stdin closes, and thus with this process, however that ends. Detached from the terminal's
  // signals.
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
