import type { Instance } from '#libs/domain/instance';

/** Durations of the work that hosts do. */
export interface Durations {
  readonly build: Duration;
  /** The live copy of a running instance. Its destination then takes as long as for a build. */
  readonly copy: Duration;
}

export interface Duration {
  readonly medianMs: number;
  /** Sigma of a log-normal distribution. */
  readonly spread: number;
  /** Attempts on record behind the median; 0 when it was given or is a default. */
  readonly measuredCount: number;
}

/** Fewer samples than these are ignored. */
const ENOUGH = 5;
const UNKNOWN: Duration = { medianMs: 10_000, spread: 0.3, measuredCount: 0 };
/** The sigma of a normal distribution, in quartiles. */
const QUARTILE = 0.6745;

/** Durations by the attempts on record that succeeded; given ones take precedence. */
export function durationsOf(
  instances: readonly Instance[],
  given: { readonly buildMs?: number | undefined; readonly copyMs?: number | undefined },
): Durations {
  const first = instances.flatMap(({ attempts }) =>
    took(attempts.filter((_, n) => attempts[n - 1]?.outcome !== 'moved')),
  );
  const build = given.buildMs === undefined ? measured(first) : exactly(given.buildMs);
  const copy = given.copyMs === undefined ? { medianMs: 0, spread: 0, measuredCount: 0 } : exactly(given.copyMs);
  return { build, copy };
}

function exactly(medianMs: number): Duration {
  return { medianMs, spread: 0, measuredCount: 0 };
}

function took(attempts: Instance['attempts']): number[] {
  return attempts.flatMap(({ outcome, startedAtMs, endedAtMs }) =>
    BUILT.includes(outcome) && endedAtMs !== undefined && endedAtMs > startedAtMs ? [endedAtMs - startedAtMs] : [],
  );
}

/** Outcomes of an attempt that end its build. */
const BUILT: readonly string[] = ['active'];

function measured(samplesMs: readonly number[]): Duration {
  if (samplesMs.length < ENOUGH) return UNKNOWN;
  const sorted = samplesMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  const [lower, medianMs, upper] = [at(0.25), at(0.5), at(0.75)];
  const spread = Math.log(Math.max(1, upper) / Math.max(1, lower)) / (2 * QUARTILE);
  return { medianMs, spread, measuredCount: samplesMs.length };
}
