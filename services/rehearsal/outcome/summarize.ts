import { groupBy } from '#libs/runtime/group-by';
import type { Refused } from '../operations/operation';
import type { FleetUse, Outcome } from './outcome';

/** A metric over all rehearsals. */
export interface Distribution {
  readonly least: number;
  readonly median: number;
  readonly p95: number;
  readonly most: number;
}

/** Metrics of a report; a condition names one of them. */
export const METRICS = [
  'seconds',
  'moved',
  'built',
  'retries',
  'refused',
  'preempted',
  'waiting',
  'failed',
  'unplaced',
  'broken',
  'unfinished',
] as const;
export type Metric = (typeof METRICS)[number];

/** Outcomes of all rehearsals of one operation. */
export interface Summary {
  readonly rehearsals: number;
  readonly metrics: Readonly<Record<Metric, Distribution>>;
  /** Instances that were refused in some rehearsal, the most frequent first. */
  readonly refused: readonly RefusedOften[];
  readonly broken: readonly { readonly what: string; readonly seeds: readonly number[] }[];
  readonly before: FleetUse;
  /** Use at the end of the rehearsal with the median time. */
  readonly after: FleetUse;
  /** The share of all arrivals, by seconds from the beginning, in the same rehearsal. */
  readonly timeline: readonly (readonly [seconds: number, arrived: number])[];
}

export interface RefusedOften extends Refused {
  /** Rehearsals in which it was refused. */
  readonly times: number;
}

const COUNTS: { readonly [M in Metric]: (outcome: Outcome) => number } = {
  seconds: ({ tookMs }) => tookMs / 1_000,
  moved: ({ moved }) => moved,
  built: ({ built }) => built,
  retries: ({ retries }) => retries,
  refused: ({ refused }) => refused.length,
  preempted: ({ preempted }) => preempted,
  waiting: ({ waiting }) => waiting,
  failed: ({ failed }) => failed,
  unplaced: ({ unplaced }) => unplaced,
  broken: ({ broken }) => broken.length,
  unfinished: ({ isOver }) => (isOver ? 0 : 1),
};

/** @param outcomes  one at least */
export function summarize(outcomes: readonly Outcome[]): Summary {
  const byTime = outcomes.toSorted((a, b) => a.tookMs - b.tookMs || a.seed - b.seed);
  const middle = byTime[Math.floor((byTime.length - 1) / 2)] as Outcome;
  const metrics = Object.fromEntries(METRICS.map((name) => [name, distribution(outcomes.map(COUNTS[name]))]));
  const broken = groupBy(
    outcomes.flatMap(({ seed, broken: whats }) => whats.map((what) => ({ seed, what }))),
    ({ what }) => what,
  );
  return {
    rehearsals: outcomes.length,
    metrics: metrics as Summary['metrics'],
    refused: refusedOften(outcomes),
    broken: Array.from(broken, ([what, found]) => ({ what, seeds: found.map(({ seed }) => seed) })),
    before: middle.before,
    after: middle.after,
    timeline: middle.arrivalsMs.map((atMs, n) => [atMs / 1_000, n + 1] as const),
  };
}

function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { least: sorted[0] ?? 0, median: at(0.5), p95: at(0.95), most: sorted.at(-1) ?? 0 };
}

function refusedOften(outcomes: readonly Outcome[]): readonly RefusedOften[] {
  const byUuid = groupBy(
    outcomes.flatMap(({ refused }) => refused),
    ({ uuid }) => uuid,
  );
  const often = Array.from(byUuid, ([, some]) => ({ ...(some[0] as Refused), times: some.length }));
  return often.sort((a, b) => b.times - a.times || (a.uuid < b.uuid ? -1 : 1));
}
