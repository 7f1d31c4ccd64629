import type { CoresAndRam, TraceEvent } from './timeline';

const WIDTH = 900;
const HEIGHT = 260;
const MARGIN = 48;
const POINTS = 600;

interface Point {
  readonly days: number;
  readonly asked: number;
  readonly used: number;
}

/**
 * An SVG of what is in use against what is asked for over the trace's own time, one picture for cores and one for ram, as
 * shares of the capacity. Where the lines part, VMs were refused.
 */
export function plotOf(
  events: readonly TraceEvent[],
  isPlaced: (vmId: string) => boolean,
  capacity: CoresAndRam,
): string {
  const plots = (['cores', 'ram'] as const).map((name, n) => {
    const points = pointsOf(events, isPlaced, name, capacity[name]);
    return `<g transform="translate(0 ${n * HEIGHT})">${chart(name, points)}</g>`;
  });
  const size = `width="${WIDTH}" height="${2 * HEIGHT}" viewBox="0 0 ${WIDTH} ${2 * HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${plots.join('\n')}
</svg>
`;
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

function chart(name: string, points: readonly Point[]): string {
  const top = Math.max(1, ...points.map(({ asked }) => asked)) * 1.05;
  const lastDays = points.at(-1)?.days || 1;
  const x = (days: number) => (MARGIN + (days / lastDays) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (share: number) => (HEIGHT - MARGIN - (share / top) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  const line = (of: 'asked' | 'used', stroke: string, dashes = '') => {
    const path = points.map((point) => `${x(point.days)},${y(point[of])}`).join(' ');
    return `<polyline fill="none" stroke="${stroke}" stroke-width="1.5"${dashes} points="${path}"/>`;
  };
  const across = (share: number, stroke: string) =>
    `<line x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${y(share)}" y2="${y(share)}" stroke="${stroke}"/>` +
    `<text x="${MARGIN - 6}" y="${y(share)}" dy="4" text-anchor="end">${Math.round(100 * share)} %</text>`;
  return [
    `<text x="${MARGIN}" y="${MARGIN - 16}" font-weight="bold">${name}: asked (dashed), in use (solid), of the capacity</text>`,
    ...[0, 0.25, 0.5, 0.75].map((share) => across(share, '#ddd')),
    across(1, '#888'),
    line('asked', '#c2410c', ' stroke-dasharray="4 3"'),
    line('used', '#1d4ed8'),
    `<text x="${MARGIN}" y="${HEIGHT - MARGIN + 18}">day 0</text>`,
    `<text x="${WIDTH - MARGIN}" y="${HEIGHT - MARGIN + 18}" text-anchor="end">day ${lastDays.toFixed(1)}</text>`,
  ].join('\n');
}
