import type { ComponentChildren } from 'preact';
import { CursorPlot, Swatch, TimeHead } from './chart-cursor';
import { amount, number, span, timeOf } from './format';
import { Linked } from './parts';

interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** 1 to 4: a colour of the theme. */
  readonly colour: number;
  /** True for a line alone, such as a capacity; else the area below is filled. */
  readonly isLimit?: boolean;
  /** The page that lists what it counts. */
  readonly href?: string;
}

const [WIDTH, HEIGHT] = [600, 100];

interface LineProps {
  readonly label: string;
  readonly series: readonly Series[];
  readonly stepMs: number;
  /** The time of the newest point. */
  readonly lastMs: number;
  readonly unit: string;
}

/** Lines over time, the newest at the right. Labels are beside the picture, so that they keep their size. */
export function LineChart(props: LineProps) {
  const { label, series, stepMs, unit } = props;
  const newest = series.map(
    ({ label: name, values }) => `${name} ${amount(unit, values.findLast((value) => value !== null) ?? 0)}`,
  );
  return (
    <figure class="chart">
      <figcaption>
        {label}
        <span class="faint">{newest.join(' · ')}</span>
      </figcaption>
      <LinePlot {...props} said={newest.join(', ')}>
        <span class="chart-most">{amount(unit, Math.ceil(mostOf(series)))}</span>
      </LinePlot>
      <div class="chart-times" aria-hidden="true">
        <span>{span((pointsOf(series) - 1) * stepMs)} ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

/** Lines without labels, which stand beside them. */
export function Sparkline(props: LineProps & { readonly said: string }) {
  return (
    <div class="sparkline">
      <LinePlot {...props} />
    </div>
  );
}

/** Lines with a cursor; `said` is their newest values in words. */
function LinePlot({
  label,
  series,
  stepMs,
  lastMs,
  unit,
  said,
  children,
}: LineProps & { readonly said: string; readonly children?: ComponentChildren }) {
  const points = pointsOf(series);
  return (
    <CursorPlot
      label={label}
      count={points}
      placeOf={(i) => i / (points - 1)}
      headAt={(i) => <TimeHead ms={lastMs - (points - 1 - i) * stepMs} />}
      valuesAt={(i) =>
        series.map(({ label: name, values, colour }) => {
          const value = values[i + values.length - points] ?? null;
          return { label: name, colour, text: value === null ? '–' : amount(unit, value) };
        })
      }
    >
      {children}
      <Lines label={`${label}: ${said}`} series={series} most={mostOf(series)} points={points} />
    </CursorPlot>
  );
}

function mostOf(series: readonly Series[]): number {
  return Math.max(1e-9, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
}

function pointsOf(series: readonly Series[]): number {
  return Math.max(2, ...series.map(({ values }) => values.length));
}

function Lines({
  label,
  series,
  most,
  points,
}: {
  label: string;
  series: readonly Series[];
  most: number;
  points: number;
}) {
  const x = (i: number, length: number) => ((i + points - length) / (points - 1)) * WIDTH;
  const y = (value: number) => HEIGHT - 2 - (value / most) * (HEIGHT - 6);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {series.map(({ label: name, values, colour, isLimit }) => {
        const known = values.flatMap((value, i) => (value === null ? [] : [[x(i, values.length), y(value)] as const]));
        const line = known.map(([px, py], i) => `${i === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`).join('');
        const [first, last] = [known[0], known.at(-1)];
        const area = first && last ? `${line}L${last[0].toFixed(1)} ${HEIGHT}L${first[0].toFixed(1)} ${HEIGHT}Z` : '';
        return (
          <g key={name} class={`series-${colour}`}>
            {!isLimit && <path class="area" d={area} />}
            <path class={isLimit ? 'line limit' : 'line'} d={line} vector-effect="non-scaling-stroke" />
          </g>
        );
      })}
    </svg>
  );
}

/** Counts over time as stacked columns. */
export function ColumnChart({
  label,
  series,
  stepMs,
  firstMs,
}: {
  label: string;
  series: readonly Series[];
  stepMs: number;
  /** The time of the first column. */
  firstMs: number;
}) {
  const count = series[0]?.values.length ?? 0;
  const sums = Array.from({ length: count }, (_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const most = Math.max(1, ...sums);
  const totals = series.map(
    ({ label: name, values }) => `${name} ${number(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}`,
  );
  return (
    <figure class="chart">
      <figcaption>
        {label}
        <span class="legend">
          {series.map(({ label: name, colour, href }, i) => (
            <Linked key={name} href={href}>
              <Swatch colour={colour} text={totals[i] ?? ''} />
            </Linked>
          ))}
        </span>
      </figcaption>
      <CursorPlot
        label={label}
        count={count}
        placeOf={(i) => (i + 0.4) / Math.max(1, count)}
        headAt={(i) => <TimeHead ms={firstMs + i * stepMs} />}
        valuesAt={(i) =>
          series.map(({ label: name, values, colour }) => ({ label: name, colour, text: number(values[i] ?? 0) }))
        }
      >
        <span class="chart-most">{number(most)}</span>
        <Columns label={`${label}: ${totals.join(', ')}`} series={series} most={most} count={count} />
      </CursorPlot>
      <div class="chart-times" aria-hidden="true">
        <span>
          {timeOf(firstMs)}, {span(count * stepMs)} ago
        </span>
        <span>now</span>
      </div>
    </figure>
  );
}

function Columns({
  label,
  series,
  most,
  count,
}: {
  label: string;
  series: readonly Series[];
  most: number;
  count: number;
}) {
  const width = WIDTH / Math.max(1, count);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {series.map(({ label: name, values, colour }, s) => (
        <g key={name} class={`series-${colour}`}>
          {values.map((value, i) => {
            if (!value) return null;
            const below = series.slice(0, s).reduce((sum, other) => sum + (other.values[i] ?? 0), 0);
            const [height, base] = [(value / most) * (HEIGHT - 6), (below / most) * (HEIGHT - 6)];
            const y = HEIGHT - base - height;
            return <rect key={i} class="column" x={i * width} width={width * 0.8} y={y} height={height} />;
          })}
        </g>
      ))}
    </svg>
  );
}

/** Names with their counts. */
export function Tallies({
  label,
  rows,
  hrefOf,
  empty,
}: {
  label: string;
  rows: readonly { readonly name: string; readonly count: number }[];
  /** The page that lists what a name counts. */
  hrefOf: (name: string) => string;
  empty: string;
}) {
  const most = Math.max(1, ...rows.map(({ count }) => count));
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <ul class="tallies" aria-label={label}>
      {rows.map(({ name, count }) => (
        <li key={name}>
          <span class="tally-name">{name}</span>
          <span class="tally-bar" aria-hidden="true">
            <span style={{ width: `${(count / most) * 100}%` }} />
          </span>
          <a class="num" href={hrefOf(name)} aria-label={`${number(count)}: ${name}`}>
            {number(count)}
          </a>
        </li>
      ))}
    </ul>
  );
}
