import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { factsOf, isAlive, type ProcessId } from './proc';

const POLL_MS = 20;
/** Time limit after SIGKILL; a process that survives it hangs in the kernel. */
const KILL_TIMEOUT_MS = 5_000;

/**
 * Ends a process and its group: SIGTERM, after `stopMs` SIGKILL. The same pid with another start time is another
 * process, and is left alone.
 *
 * @throws BerthError `unavailable / not_ended` when not even SIGKILL ends it.
 */
export async function endProcess(id: ProcessId, stopMs: number, clock: Clock): Promise<void> {
  if (await isAlive(id)) {
    signalGroup(id, 'SIGTERM');
    if (!(await isGone(id, stopMs, clock))) {
      signalGroup(id, 'SIGKILL');
      if (!(await isGone(id, KILL_TIMEOUT_MS, clock))) {
        throw new BerthError(
          'unavailable',
          'not_ended',
          `process ${id.pid} did not end within ${KILL_TIMEOUT_MS} ms of SIGKILL`,
        );
      }
    }
  }
  // The rest of its group. Linux does not reuse a pid while it is a group's id: if a process has the pid now, the
  // group was empty, and the id may be another group's.
  if ((await factsOf(id.pid)) === undefined) signalGroup(id, 'SIGKILL');
}

async function isGone(id: ProcessId, withinMs: number, clock: Clock): Promise<boolean> {
  const untilMs = clock.elapsed() + withinMs;
  while (await isAlive(id)) {
    if (clock.elapsed() >= untilMs) return false;
    await sleep(clock, POLL_MS);
  }
  return true;
}

/** A group's id is the pid of its leader. */
function signalGroup({ pid }: ProcessId, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}
