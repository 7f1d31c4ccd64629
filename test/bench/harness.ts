import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '#libs/runtime/percentiles';

/** A benchmark, one per file, listed in `run.ts`. */
export interface Bench {
  /** `npm run bench -- NAME` */
  readonly name: string;
  /** One sentence: what is measured. */
  readonly purpose: string;
  run(context: BenchContext): Promise<Results>;
}

export interface BenchContext {
  /** Flags after the name, `--hosts 1000` as `{ hosts: '1000' }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** A line for people, beside the results. */
  note(text: string): void;
}

/** Named figures with their unit in the name: `builds_per_s`, `select_p99_ms`. */
export type Results = Readonly<Record<string, number | string>>;

/** How fast something goes. */
export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly count: number;
}

/**
 * Repeats an operation with a number of them in flight, for a time, after a warm-up that is not counted: in its first
 * seconds under load a process spends a third of its time on compiling what it runs. The raw ceilings (a bare broker call,
 * a bare script) and what stands on them are measured by this same loop, so that their quotient means something.
 */
export async function measureRate(
  operation: (n: number) => Promise<unknown>,
  load: { readonly inFlight: number; readonly seconds: number },
): Promise<Rate> {
  await runFor(operation, load.inFlight, load.seconds / 2);
  const { durationsMs, elapsedMs } = await runFor(operation, load.inFlight, load.seconds);
  return rateOf(durationsMs, elapsedMs);
}

/** Starts operations at a steady rate, whatever they take: latency under a load that does not yield. */
export async function measureAtRate(
  operation: (n: number) => Promise<unknown>,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<Rate> {
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
  return rateOf(durationsMs, performance.now() - startedMs);
}

function rateOf(durationsMs: readonly number[], elapsedMs: number): Rate {
  return {
    perSecond: round(durationsMs.length / (elapsedMs / 1000)),
    p50Ms: round(percentile(durationsMs, 50)),
    p99Ms: round(percentile(durationsMs, 99)),
    count: durationsMs.length,
  };
}

/** What was measured twice, as one. */
export function meanRate(a: Rate, b: Rate): Rate {
  return {
    perSecond: round((a.perSecond + b.perSecond) / 2),
    p50Ms: round((a.p50Ms + b.p50Ms) / 2),
    p99Ms: round((a.p99Ms + b.p99Ms) / 2),
    count: a.count + b.count,
  };
}

/** A rate under a name, as results: `select_per_s`, `select_p50_ms`, `select_p99_ms`. */
export function rateResults(name: string, rate: Rate): Results {
  return { [`${name}_per_s`]: rate.perSecond, [`${name}_p50_ms`]: rate.p50Ms, [`${name}_p99_ms`]: rate.p99Ms };
}

/** Three significant places: more would be noise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}

async function runFor(operation: (n: number) => Promise<unknown>, inFlight: number, seconds: number) {
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
