import type { Outcome } from '../../../rehearsal/main';
import { svgOfCharts } from '../../trace/line-chart';

/** An SVG with a line for each rehearsal: how many instances had arrived when. */
export function drawTimelines(title: string, outcomes: readonly Outcome[]): string {
  const most = Math.max(1, ...outcomes.map(({ arrivalsMs }) => arrivalsMs.length));
  const lastSeconds = Math.max(1, ...outcomes.map(({ tookMs }) => tookMs / 1_000));
  const lines = outcomes.map(({ arrivalsMs, refused, broken }) => ({
    points: [[0, 0] as const, ...arrivalsMs.map((atMs, n) => [atMs / 1_000, n + 1] as const)],
    stroke: broken.length > 0 ? '#b91c1c' : refused.length > 0 ? '#c2410c' : '#1d4ed8',
  }));
  const labels = [0, lastSeconds].map((at) => ({ at, text: `${at.toFixed(at === 0 ? 0 : 1)} s` }));
  const heights = [0, most].map((at) => ({ at, text: String(at) }));
  const escaped = title.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return svgOfCharts([
    {
      title: `${escaped}: arrivals, ${outcomes.length} rehearsals (orange: something was refused)`,
      lines,
      x: { from: 0, to: lastSeconds, labels },
      y: { from: 0, to: most, labels: heights },
    },
  ]);
}
