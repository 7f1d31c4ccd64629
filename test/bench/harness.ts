import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '#libs/runtime/percentiles';

/** A benchmark, one per file, listed in `run.ts`. */
export interface Bench {
  /** `npm run bench -- NAME` */
  readonly name: string;
  /** One sentence: the measured subject. */
  readonly purpose: string;
  /** Accepted flags with their defaults: `{ hosts: '1000' }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** Starts no processes and computes without pause: a handler of signals would never run, so they end it as they are. */
  readonly isAlone?: true;
  run(context: BenchContext): Promise<Results>;
}

export interface BenchContext {
  /** Flags of the command line, `--hosts 1000` as `{ hosts: '1000' }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** Prints a line for people, beside the results. */
  note(text: string): void;
}

/** Figures by name, with the unit at the end of the name: `build_per_s`, `select_p99_ms`. */
export type Results = Readonly<Record<string, number | string>>;

/** The rate and latency of an operation. */
export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly count: number;
  /**
   * The percentage of processor time that the hypervisor gave to other machines (steal); 0 where the kernel does not
   * report it. It lowers rates, and raises latencies far more.
   */
  readonly stolenPercent: number;
}

/**
 * Repeats an operation with a fixed number in flight, for a time, after an uncounted warm-up: in its first seconds
 * under load a process spends a third of its time compiling. The same loop measures the raw ceilings (a bare broker
 * call, a bare script), so that ratios are comparable.
 */
export async function measureRate(
  operation: (n: number) => Promise<unknown>,
  load: { readonly inFlight: number; readonly seconds: number },
): Promise<Rate> {
  return afterWarmUp((seconds) => runFor(operation, load.inFlight, seconds), load.seconds);
}

/** Starts operations at a steady rate, whatever their duration, after the same warm-up: latency under an open load. */
export async function measureAtRate(
  operation: (n: number) => Promise<unknown>,
  load: { readonly perSecond: number; readonly seconds: number },
): Promise<Rate> {
  return afterWarmUp((seconds) => runAtRate(operation, load.perSecond, seconds), load.seconds);
}

/** The load: a fixed number of operations in flight, or a steady rate of starts, whatever their duration. */
export type Load = { readonly inFlight: number } | { readonly perSecond: number };

/** Medians of several runs. */
export interface CalmRate extends Rate {
  /** Runs with less than 2 % stolen time, which give the median; without any, all runs do. */
  readonly calmRuns: number;
  readonly runs: number;
}

const CALM_STOLEN_PERCENT = 2;

/** Measures several times after one warm-up; `seconds` is the total of the runs. */
export async function measureRuns(
  operation: (n: number) => Promise<unknown>,
  load: Load,
  { seconds, runs }: { readonly seconds: number; readonly runs: number },
): Promise<CalmRate> {
  const run = (runSeconds: number) =>
    'inFlight' in load
      ? runFor(operation, load.inFlight, runSeconds)
      : runAtRate(operation, load.perSecond, runSeconds);
  await run(seconds / 2);
  const rates: Rate[] = [];
  for (let n = 0; n < runs; n++) rates.push(await measureRun(() => run(seconds / runs)));
  return medianOfCalm(rates);
}

/** The median of each figure over the runs with little stolen time, or over all without any. */
export function medianOfCalm(rates: readonly Rate[]): CalmRate {
  const calm = rates.filter(({ stolenPercent }) => stolenPercent < CALM_STOLEN_PERCENT);
  const used = calm.length > 0 ? calm : rates;
  const median = (of: (rate: Rate) => number) => percentile(used.map(of), 50);
  return {
    perSecond: median(({ perSecond }) => perSecond),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    count: used.reduce((sum, { count }) => sum + count, 0),
    stolenPercent: median(({ stolenPercent }) => stolenPercent),
    calmRuns: calm.length,
    runs: rates.length,
  };
}

/** The mean of two measurements. */
export function meanRate(a: Rate, b: Rate): Rate {
  return {
    perSecond: round((a.perSecond + b.perSecond) / 2),
    p50Ms: round((a.p50Ms + b.p50Ms) / 2),
    p99Ms: round((a.p99Ms + b.p99Ms) / 2),
    count: a.count + b.count,
    stolenPercent: round((a.stolenPercent + b.stolenPercent) / 2),
  };
}

/** A rate under a name, as results: `select_per_s`, `select_p50_ms`, `select_p99_ms`. */
export function rateResults(name: string, rate: Rate): Results {
  return { [`${name}_per_s`]: rate.perSecond, [`${name}_p50_ms`]: rate.p50Ms, [`${name}_p99_ms`]: rate.p99Ms };
}

/** Rounds to three significant digits: more would be noise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** Durations of the operations of a run. */
export interface Samples {
  readonly durationsMs: readonly number[];
  readonly elapsedMs: number;
}

async function afterWarmUp(run: (seconds: number) => Promise<Samples>, seconds: number): Promise<Rate> {
  await run(seconds / 2);
  return measureRun(() => run(seconds));
}

/** The rate of operations that somebody else times. */
export async function measureRun(run: () => Promise<Samples>): Promise<Rate> {
  const before = await processorTime();
  const { durationsMs, elapsedMs } = await run();
  const after = await processorTime();
  return {
    perSecond: round(durationsMs.length / (elapsedMs / 1000)),
    p50Ms: round(percentile(durationsMs, 50)),
    p99Ms: round(percentile(durationsMs, 99)),
    count: durationsMs.length,
    stolenPercent: round((100 * (after.stolen - before.stolen)) / Math.max(1, after.all - before.all)),
  };
}

async function runFor(operation: (n: number) => Promise<unknown>, inFlight: number, seconds: number): Promise<Samples> {
  const durationsMs: number[] = [];
  const startedMs = performance.now();
  const untilMs = startedMs + seconds * 1000;
  let started = 0;
  const worker = async () => {
    while (performance.now() < untilMs) {
      const fromMs = performance.now();
      await operation(started++);
      durationsMs.push(performance.now() - fromMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { durationsMs, elapsedMs: performance.now() - startedMs };
}

async function runAtRate(
  operation: (n: number) => Promise<unknown>,
  perSecond: number,
  seconds: number,
): Promise<Samples> {
  const durationsMs: number[] = [];
  const under = new Set<Promise<void>>();
  const startedMs = performance.now();
  for (let started = 0; performance.now() - startedMs < seconds * 1_000; ) {
    const owed = ((performance.now() - startedMs) / 1_000) * perSecond;
    while (started < owed) {
      const fromMs = performance.now();
      const one = operation(started++).then(() => {
        durationsMs.push(performance.now() - fromMs);
        under.delete(one);
      });
      under.add(one);
    }
    await sleep(1);
  }
  await Promise.all(under);
  return { durationsMs, elapsedMs: performance.now() - startedMs };
}

/** The time of all processors since the machine started, in ticks (`proc_stat(5)`: user, nice, system, idle, iowait, irq, softirq, steal). */
async function processorTime(): Promise<{ readonly stolen: number; readonly all: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '');
  const ticks = text.split('\n', 1)[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  return { stolen: ticks[7] ?? 0, all: ticks.reduce((sum, each) => sum + each, 0) };
}

/** `USER_HZ` of Linux. */
const TICKS_PER_SECOND = 100;

/** The processor time of a process so far, in seconds (`proc_pid_stat(5)`); 0 where the kernel does not tell. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name, which may contain blanks: utime and stime are the 12th and 13th.
  const [utime = 0, stime = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (utime + stime) / TICKS_PER_SECOND;
}

/** The same of a process and the processes that it started. */
export async function familyCpuSeconds(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)];
  return (await Promise.all(pids.map(cpuSeconds))).reduce((sum, seconds) => sum + seconds, 0);
}
