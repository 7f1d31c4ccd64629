import { metricsAt, sumOf } from '../berth-process';
import { type Results, round } from '../harness';

/** A process's usage since its start, by the metrics on its operations port. */
interface Used {
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly gcSeconds: number;
  readonly loopP99Seconds: number;
}

/** Interval of the event loop histogram's samples. */
const LOOK_INTERVAL_MS = 10;

/**
 * A process's load during a measurement: its share of one processor, the share of its garbage collection, and its event
 * loop's delay (p99 of Node's histogram, sampled every ten milliseconds).
 */
export async function processLoad<T>(
  operationsPort: number,
  name: string,
  measure: () => Promise<T>,
): Promise<{ readonly measured: T; readonly load: Results }> {
  const before = await used(operationsPort);
  const measured = await measure();
  const after = await used(operationsPort);
  const elapsedSeconds = (after.atMs - before.atMs) / 1_000;
  const percent = (seconds: number) => round((100 * seconds) / elapsedSeconds);
  return {
    measured,
    load: {
      [`${name}_cpu_percent`]: percent(after.cpuSeconds - before.cpuSeconds),
      [`${name}_gc_percent`]: percent(after.gcSeconds - before.gcSeconds),
      [`${name}_loop_late_p99_ms`]: round(Math.max(0, 1_000 * after.loopP99Seconds - LOOK_INTERVAL_MS)),
    },
  };
}

async function used(operationsPort: number): Promise<Used> {
  const metrics = await metricsAt(`127.0.0.1:${operationsPort}`);
  const sum = (name: string) => sumOf(metrics, name);
  return {
    atMs: performance.now(),
    cpuSeconds: sum('process_cpu_seconds_total'),
    gcSeconds: sum('nodejs_gc_duration_seconds_sum'),
    loopP99Seconds: sum('nodejs_eventloop_lag_p99_seconds'),
  };
}
