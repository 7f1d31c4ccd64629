import { readdir, readFile } from 'node:fs/promises';

/**
 * Processes as Linux' /proc shows them. A pid alone names nobody: it is given again when its process is gone. With the
 * time of its start (in ticks since boot, field 22 of /proc/PID/stat) and the boot it names one process for ever.
 */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

export interface ProcessFacts extends ProcessId {
  readonly processGroup: number;
  readonly state: string;
}

/** Names this boot of the machine. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

/** Undefined when there is no such process, or it is over and only waits to be noticed by its parent. */
export async function factsOf(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is the command in parentheses and may hold anything, so count from its end.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, , processGroup] = fields ?? [];
  if (!fields || state === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, state, processGroup: Number(processGroup), startTicks: Number(fields[19]) };
}

/** Whether exactly this process lives. */
export async function isAlive({ pid, startTicks }: ProcessId): Promise<boolean> {
  return (await factsOf(pid))?.startTicks === startTicks;
}

/** The words of a process, a zero after each; undefined when it is gone. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line === '' ? undefined : line;
}

/** Processes whose command line (words joined by spaces) matches, with their resident memory. */
export async function findProcesses(pattern: RegExp) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map((pid) => matching(pid, pattern)));
  return found.filter((one) => one !== undefined);
}

/** Cores that this process may use. */
export async function allowedCpus(): Promise<number[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  const ranges = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '0';
  return ranges.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  });
}

const PAGE_BYTES = 4_096;
const MIB = 1_048_576;

async function matching(pid: number, pattern: RegExp) {
  const commandLine = (await commandLineOf(pid)) ?? '';
  if (!pattern.test(commandLine.replaceAll('\0', ' ').trim())) return undefined;
  const [facts, statm] = await Promise.all([factsOf(pid), readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')]);
  if (!facts) return undefined;
  const residentMb = Math.ceil((Number(statm.split(' ')[1] ?? 0) * PAGE_BYTES) / MIB);
  return { ...facts, residentMb };
}
