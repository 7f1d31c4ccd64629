import { readdir, readFile } from 'node:fs/promises';

/** A Linux process. Pids are reused, so only pid, start time and boot together identify one. */
export interface ProcessId {
  readonly pid: number;
  /** In clock ticks since boot: field 22 of /proc/PID/stat. */
  readonly startTicks: number;
}

/** Fields of /proc/PID/stat. */
export interface ProcessFacts extends ProcessId {
  readonly processGroup: number;
  readonly state: string;
}

/** Identifies this boot of the machine. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

/** Undefined for a missing process, and for a zombie. */
export async function factsOf(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is the command in parentheses, which may contain any character: fields are counted from its end.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, , processGroup] = fields ?? [];
  if (!fields || state === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, state, processGroup: Number(processGroup), startTicks: Number(fields[19]) };
}

/** True when this very process is alive. */
export async function isAlive({ pid, startTicks }: ProcessId): Promise<boolean> {
  return (await factsOf(pid))?.startTicks === startTicks;
}

/** The command line of a process, a zero after each word; undefined when it is gone. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line === '' ? undefined : line;
}

/** Processes whose command line (words joined by spaces) matches, with their resident memory in MiB. */
export async function findProcesses(pattern: RegExp) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map((pid) => matching(pid, pattern)));
  return found.filter((one) => one !== undefined);
}

/** Cores that this process may use. */
export async function allowedCpus(): Promise<number[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  return parseCpuList(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '0');
}

/** `0-3,8` as the kernel writes lists of cores. */
export function parseCpuList(list: string): number[] {
  if (list.trim() === '') return [];
  return list.split(',').flatMap((range) => {
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
