import type { BuildRange, Tally } from '../api/builds';

/** Counts within a step of time. */
export interface BuildCounts {
  requested: number;
  active: number;
  error: number;
  retried: number;
  readonly faults: Map<string, number>;
  readonly attempts: Map<string, number>;
}

interface Bucket extends BuildCounts {
  readonly startMs: number;
}

/** Two resolutions: fine ones for the last minutes, minutes for the last day. */
const [FINE_MS, COARSE_MS] = [5_000, 60_000];
const KEPT_MS = { [FINE_MS]: 600_000, [COARSE_MS]: 86_400_000 };

/** The columns of each range: their width, and how many. */
const RANGES: Readonly<Record<BuildRange, { readonly stepMs: number; readonly steps: number }>> = {
  '10m': { stepMs: FINE_MS, steps: 120 },
  '1h': { stepMs: COARSE_MS, steps: 60 },
  '6h': { stepMs: 5 * COARSE_MS, steps: 72 },
  '24h': { stepMs: 15 * COARSE_MS, steps: 96 },
};

/** The range of a page's query; ten minutes unless it names another. */
export function rangeOf(query: URLSearchParams): BuildRange {
  const range = query.get('range') ?? '';
  return Object.hasOwn(RANGES, range) ? (range as BuildRange) : '10m';
}

/** Counts over time, for a day at most. */
export class BuildSeries {
  readonly #fine: Bucket[] = [];
  readonly #coarse: Bucket[] = [];

  /** Adds to the counts of a moment. */
  add(nowMs: number, change: (counts: BuildCounts) => void): void {
    change(bucketAt(this.#fine, FINE_MS, nowMs));
    change(bucketAt(this.#coarse, COARSE_MS, nowMs));
  }

  /** The columns of a range, oldest first, the last with `nowMs`; and the sums of their reasons. */
  read(range: BuildRange, nowMs: number) {
    const { stepMs, steps } = RANGES[range];
    const firstMs = Math.floor(nowMs / stepMs) * stepMs - (steps - 1) * stepMs;
    const buckets = (stepMs === FINE_MS ? this.#fine : this.#coarse).filter(({ startMs }) => startMs >= firstMs);
    const columnOf = (key: 'requested' | 'active' | 'error' | 'retried') => {
      const column = Array.from({ length: steps }, () => 0);
      for (const bucket of buckets) {
        const at = Math.floor((bucket.startMs - firstMs) / stepMs);
        column[at] = (column[at] ?? 0) + bucket[key];
      }
      return column;
    };
    return {
      stepMs,
      firstMs,
      requested: columnOf('requested'),
      active: columnOf('active'),
      error: columnOf('error'),
      retried: columnOf('retried'),
      faults: sumOf(buckets.map(({ faults }) => faults)),
      failedAttempts: sumOf(buckets.map(({ attempts }) => attempts)),
    };
  }
}

export function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function bucketAt(buckets: Bucket[], stepMs: number, nowMs: number): Bucket {
  const startMs = Math.floor(nowMs / stepMs) * stepMs;
  const last = buckets.at(-1);
  if (last?.startMs === startMs) return last;
  const bucket = { startMs, requested: 0, active: 0, error: 0, retried: 0, faults: new Map(), attempts: new Map() };
  buckets.push(bucket);
  const oldestMs = nowMs - (KEPT_MS[stepMs] ?? 0) - stepMs;
  while ((buckets[0]?.startMs ?? oldestMs) < oldestMs) buckets.shift();
  return bucket;
}

function sumOf(all: readonly Map<string, number>[]): Tally[] {
  const sum = new Map<string, number>();
  for (const counts of all) for (const [name, n] of counts) sum.set(name, (sum.get(name) ?? 0) + n);
  return [...sum].map(([name, n]) => ({ name, count: n })).sort((a, b) => b.count - a.count);
}
