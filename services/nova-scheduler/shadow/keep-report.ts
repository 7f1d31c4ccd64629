import {
  SHADOW_OUTCOMES,
  type ShadowDifference,
  type ShadowOutcome,
  type ShadowReport,
  type ShadowTimes,
} from '#libs/contracts/shadow-report';
import type { Clock } from '#libs/domain/clock';
import type { Metrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';

/** Limit of the times that percentiles are of. */
const MOST_TIMES = 10_000;

/** Keeps what a shadow finds, bounded: counts, times of the last decisions, and the last differences. */
export class ReportKeeper {
  readonly #sinceMs: number;
  readonly #outcomes = Object.fromEntries(SHADOW_OUTCOMES.map((outcome) => [outcome, 0])) as Record<
    ShadowOutcome,
    number
  >;
  readonly #causes = new Map<string, number>();
  readonly #berthMs: number[] = [];
  readonly #novaMs: number[] = [];
  readonly #differences: ShadowDifference[] = [];
  readonly #metrics: ReturnType<typeof shadowMetrics>;

  /** @param most  limit of the differences */
  constructor(
    clock: Clock,
    metrics: Metrics,
    private readonly most: number,
  ) {
    this.#sinceMs = clock.now();
    this.#metrics = shadowMetrics(metrics);
  }

  add(compared: ShadowDifference): void {
    const { outcome, cause, berthMs, novaMs } = compared;
    this.#outcomes[outcome] += 1;
    this.#metrics.outcomes.inc({ outcome });
    this.#note('berth', this.#berthMs, berthMs);
    if (novaMs !== undefined) this.#note('nova', this.#novaMs, novaMs);
    if (!isDifference(outcome)) return;
    this.#causes.set(cause, (this.#causes.get(cause) ?? 0) + 1);
    this.#metrics.causes.inc({ cause });
    if (this.#differences.push(compared) > this.most) this.#differences.shift();
  }

  report(): ShadowReport {
    return {
      sinceMs: this.#sinceMs,
      outcomes: { ...this.#outcomes },
      causes: Object.fromEntries([...this.#causes].sort(([, a], [, b]) => b - a)),
      berthTimes: timesOf(this.#berthMs),
      novaTimes: timesOf(this.#novaMs),
      differences: this.#differences.toReversed(),
    };
  }

  #note(scheduler: string, times: number[], ms: number): void {
    this.#metrics.seconds.observe({ scheduler }, ms / 1_000);
    if (times.push(ms) > MOST_TIMES) times.shift();
  }
}

/** True for an outcome in which the schedulers disagree. */
export function isDifference(outcome: ShadowOutcome): boolean {
  return outcome !== 'same' && outcome !== 'neither' && outcome !== 'unseen';
}

function timesOf(times: readonly number[]): ShadowTimes | undefined {
  if (times.length === 0) return undefined;
  return { count: times.length, p50Ms: percentile(times, 50), p99Ms: percentile(times, 99) };
}

function shadowMetrics(metrics: Metrics) {
  return {
    outcomes: metrics.counter('berth_nova_shadow_total', 'Instances that a shadow compared, by what came of it.', [
      'outcome',
    ]),
    causes: metrics.counter(
      'berth_nova_shadow_differences_total',
      'Instances for which the schedulers chose differently, by cause.',
      ['cause'],
    ),
    seconds: metrics.histogram(
      'berth_nova_shadow_seconds',
      'Time of a decision of a shadow, and from the call to the claim of the scheduler that answers.',
      ['scheduler'],
    ),
  };
}
