/** One line of a chart, through its points in order. */
export interface ChartLine {
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly stroke: string;
  readonly isDashed?: boolean;
}

/** A label beside a line across the chart, or below a place on its x axis. */
export interface ChartLabel {
  readonly at: number;
  readonly text: string;
  readonly stroke?: string;
}

/** A chart; its axes span their labels, or extend to `top`. */
export interface LineChart {
  readonly title: string;
  readonly lines: readonly ChartLine[];
  readonly x: { readonly from: number; readonly to: number; readonly labels: readonly ChartLabel[] };
  readonly y: {
    readonly from: number;
    readonly to: number;
    readonly labels: readonly ChartLabel[];
    /** Equal factors have equal heights; all values must be above 0. */
    readonly isLogarithmic?: boolean;
  };
}

const WIDTH = 900;
const HEIGHT = 260;
const MARGIN = 48;

/** An SVG of charts, one below the other. */
export function svgOfCharts(charts: readonly LineChart[]): string {
  const height = charts.length * HEIGHT;
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  const drawn = charts.map((chart, n) => `<g transform="translate(0 ${n * HEIGHT})">${draw(chart)}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${drawn.join('\n')}
</svg>
`;
}

function draw({ title, lines, x: across, y: up }: LineChart): string {
  const scaled = up.isLogarithmic ? Math.log : (value: number) => value;
  const [low, high] = [scaled(up.from), scaled(up.to)];
  const share = (value: number, from: number, to: number) => (to === from ? 0 : (value - from) / (to - from));
  const x = (value: number) => (MARGIN + share(value, across.from, across.to) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (value: number) => (HEIGHT - MARGIN - share(scaled(value), low, high) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  const drawLine = ({ points, stroke, isDashed }: ChartLine) => {
    const path = points.map((point) => `${x(point[0])},${y(point[1])}`).join(' ');
    const dashes = isDashed ? ' stroke-dasharray="4 3"' : '';
    return `<polyline fill="none" stroke="${stroke}" stroke-width="1.5"${dashes} points="${path}"/>`;
  };
  const drawAcross = ({ at, text, stroke = '#ddd' }: ChartLabel) =>
    `<line x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${y(at)}" y2="${y(at)}" stroke="${stroke}"/>` +
    `<text x="${MARGIN - 6}" y="${y(at)}" dy="4" text-anchor="end">${text}</text>`;
  const drawBelow = ({ at, text }: ChartLabel) => {
    const anchor = at <= across.from ? '' : ` text-anchor="${at >= across.to ? 'end' : 'middle'}"`;
    return `<text x="${x(at)}" y="${HEIGHT - MARGIN + 18}"${anchor}>${text}</text>`;
  };
  return [
    `<text x="${MARGIN}" y="${MARGIN - 16}" font-weight="bold">${title}</text>`,
    ...up.labels.map(drawAcross),
    ...lines.map(drawLine),
    ...across.labels.map(drawBelow),
  ].join('\n');
}
