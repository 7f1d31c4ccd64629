import { type CalmRate, measureRuns, type Results, rateResults, round } from '../harness';

/** The loads of the latency measurements, in percent of the maximum rate of `select_destinations`. */
export const LOADS_PERCENT = [10, 25, 50, 75, 90] as const;

/** Latency of a call alone, and at each load. */
export interface LatencyOverLoad {
  /** One at a time, with nothing else running. */
  readonly idle: CalmRate;
  readonly at: ReadonlyMap<number, CalmRate>;
}

export interface LoadRange {
  /** The calls per second that count as 100 %. */
  readonly capacityPerSecond: number;
  /** Total of all runs at one load. */
  readonly seconds: number;
  readonly runs: number;
  readonly note: (text: string) => void;
}

/** Runs a measurement at one load, and adds figures to it. */
type Around = (name: string, measure: () => Promise<CalmRate>) => Promise<CalmRate>;

/** Measures a call alone, then at each load. */
export async function measureOverLoad(
  call: (n: number) => Promise<unknown>,
  { capacityPerSecond, seconds, runs, note }: LoadRange,
  around: Around = (_, measure) => measure(),
): Promise<LatencyOverLoad> {
  const size = { seconds, runs };
  const idle = await around('idle', () => measureRuns(call, { inFlight: 1 }, size));
  const at = new Map<number, CalmRate>();
  for (const percent of LOADS_PERCENT) {
    note(`at ${percent} % of the load`);
    const perSecond = (capacityPerSecond * percent) / 100;
    at.set(percent, await around(`at_${percent}`, () => measureRuns(call, { perSecond }, size)));
  }
  return { idle, at };
}

/**
 * `select_idle_p50_ms`, `raw_rpc_at_50_p99_ms`, `select_at_50_p50_ratio` and the like: selects, bare calls, and their
 * ratio.
 */
export function resultsOverLoad(select: LatencyOverLoad, bare: LatencyOverLoad): Results {
  const pairs: [string, CalmRate, CalmRate][] = [['idle', select.idle, bare.idle]];
  for (const percent of LOADS_PERCENT) {
    const [of, ofBare] = [select.at.get(percent), bare.at.get(percent)];
    if (of && ofBare) pairs.push([`at_${percent}`, of, ofBare]);
  }
  return Object.assign({}, ...pairs.map(([name, of, ofBare]) => resultsOf(name, of, ofBare)));
}

function resultsOf(name: string, of: CalmRate, ofBare: CalmRate): Results {
  return {
    ...calmResults(`select_${name}`, of),
    ...calmResults(`raw_rpc_${name}`, ofBare),
    [`select_${name}_p50_ratio`]: round(of.p50Ms / ofBare.p50Ms),
    [`select_${name}_p99_ratio`]: round(of.p99Ms / ofBare.p99Ms),
  };
}

function calmResults(name: string, rate: CalmRate): Results {
  const { stolenPercent, calmRuns, runs } = rate;
  return {
    ...rateResults(name, rate),
    [`${name}_stolen_percent`]: stolenPercent,
    [`${name}_calm_runs`]: `${calmRuns} of ${runs}`,
  };
}
