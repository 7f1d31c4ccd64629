import { type LineChart, svgOfCharts } from './line-chart';
import type { CoresAndRam, TraceEvent } from './timeline';

const POINTS = 600;

interface Point {
  readonly days: number;
  readonly asked: number;
  readonly used: number;
}

/**
 * An SVG of usage against demand over the trace's own time, one chart for cores and one for ram, as shares of the
 * capacity. Where the lines part, VMs were refused.
 */
export function plotOf(
  events: readonly TraceEvent[],
  isPlaced: (vmId: string) => boolean,
  capacity: CoresAndRam,
): string {
  const charts = (['cores', 'ram'] as const).map((name) =>
    chart(name, pointsOf(events, isPlaced, name, capacity[name])),
  );
  return svgOfCharts(charts);
}

function pointsOf(
  events: readonly TraceEvent[],
  isPlaced: (vmId: string) => boolean,
  name: 'cores' | 'ram',
  capacity: number,
): Point[] {
  const lastDays = Math.max(0, events.findLast(({ kind }) => kind === 'arrival')?.atDays ?? 0);
  const points: Point[] = [];
  let [asked, used, next] = [0, 0, 0];
  for (let n = 0; n <= POINTS; n++) {
    const days = (n / POINTS) * lastDays;
    for (let event = events[next]; event && event.atDays <= days; event = events[++next]) {
      const amount = event.kind === 'arrival' ? event.vm[name] : -event.vm[name];
      asked += amount;
      if (isPlaced(event.vm.vmId)) used += amount;
    }
    points.push({ days, asked: asked / capacity, used: used / capacity });
  }
  return points;
}

function chart(name: string, points: readonly Point[]): LineChart {
  const top = Math.max(1, ...points.map(({ asked }) => asked)) * 1.05;
  const lastDays = points.at(-1)?.days || 1;
  const line = (of: 'asked' | 'used') => points.map((point) => [point.days, point[of]] as const);
  const percent = (share: number) => ({ at: share, text: `${Math.round(100 * share)} %` });
  return {
    title: `${name}: asked (dashed), in use (solid), of the capacity`,
    lines: [
      { points: line('asked'), stroke: '#c2410c', isDashed: true },
      { points: line('used'), stroke: '#1d4ed8' },
    ],
    x: {
      from: 0,
      to: lastDays,
      labels: [
        { at: 0, text: 'day 0' },
        { at: lastDays, text: `day ${lastDays.toFixed(1)}` },
      ],
    },
    y: { from: 0, to: top, labels: [...[0, 0.25, 0.5, 0.75].map(percent), { ...percent(1), stroke: '#888' }] },
  };
}
