import { createHistogram } from 'node:perf_hooks';

/** Samples are recorded in thousandths of their unit: milliseconds in µs. */
const PARTS = 1_000;

/**
 * A percentile of the samples, to three significant digits; 0 without samples. (Node ships HdrHistogram, in C; its
 * JavaScript port takes 30 ms to load.)
 */
export function percentile(samples: readonly number[], percent: number): number {
  const histogram = createHistogram({ figures: 3 });
  for (const sample of samples) histogram.record(Math.max(1, Math.round(sample * PARTS)));
  return Number((histogram.percentile(percent) / PARTS).toPrecision(3));
}
