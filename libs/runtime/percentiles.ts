/**
 * The value below which a share of the samples lies (nearest rank, as Prometheus' summaries and wrk report it); 0 of no
 * samples. `samples` need not be sorted.
 */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) return 0;
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? 0;
}
