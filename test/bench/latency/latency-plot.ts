import { type LineChart, svgOfCharts } from '../../../services/cli/trace/line-chart';
import type { CalmRate } from '../harness';
import { type LatencyOverLoad, LOADS_PERCENT } from './latency-over-load';

/** Milliseconds of the lines across the chart, as far as it reaches. */
const TICKS_MS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/**
 * An SVG of latency over load, the median above and the 99th percentile below: selects solid, bare calls at the same
 * rate dashed.
 */
export function plotLatency(select: LatencyOverLoad, bare: LatencyOverLoad): string {
  return svgOfCharts([
    chart('p50', ({ p50Ms }) => p50Ms, select, bare),
    chart('p99', ({ p99Ms }) => p99Ms, select, bare),
  ]);
}

function chart(
  name: string,
  of: (rate: CalmRate) => number,
  select: LatencyOverLoad,
  bare: LatencyOverLoad,
): LineChart {
  const pointsOf = ({ idle, at }: LatencyOverLoad) => [
    [0, of(idle)] as const,
    ...[...at].map(([percent, rate]) => [percent, of(rate)] as const),
  ];
  const [selects, bareCalls] = [pointsOf(select), pointsOf(bare)];
  const all = [...selects, ...bareCalls].map(([, ms]) => ms);
  const from = TICKS_MS.findLast((ms) => ms <= Math.min(...all)) ?? 0.1;
  const to = TICKS_MS.find((ms) => ms >= Math.max(...all)) ?? 10_000;
  const ticks = TICKS_MS.filter((ms) => ms >= from && ms <= to);
  return {
    title: `${name} of select_destinations (solid) and of a bare call at that rate (dashed), by load`,
    lines: [
      { points: bareCalls, stroke: '#c2410c', isDashed: true },
      { points: selects, stroke: '#1d4ed8' },
    ],
    x: {
      from: 0,
      to: 100,
      labels: [{ at: 0, text: 'alone' }, ...[...LOADS_PERCENT, 100].map((at) => ({ at, text: `${at} %` }))],
    },
    y: { from, to, isLogarithmic: true, labels: ticks.map((at) => ({ at, text: `${at} ms` })) },
  };
}
