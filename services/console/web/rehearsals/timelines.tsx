import { CursorPlot } from '../ui/chart-cursor';
import { number, plural, span } from '../ui/format';
import { Section } from '../ui/parts';
import type { OperationReport, Timeline } from './report';

const [WIDTH, HEIGHT] = [600, 140];
/** Places of the cursor. */
const STEPS = 60;

/** A line for each rehearsal: how many instances had arrived when. */
export function Timelines({ report: { timelines: lines, metrics } }: { report: OperationReport }) {
  const most = Math.max(0, ...lines.map(({ arrivals }) => arrivals.length));
  if (most === 0) return null;
  const lastSeconds = Math.max(
    metrics['seconds']?.most ?? 0,
    ...lines.map(({ arrivals }) => arrivals.at(-1) ?? 0),
    0.1,
  );
  const secondsAt = (index: number) => (index / STEPS) * lastSeconds;
  const label = 'Arrivals of instances';
  return (
    <Section title={label} aside={`${plural(lines.length, 'line')}, one for each rehearsal`}>
      <figure class="chart chart-tall">
        <CursorPlot
          label={label}
          count={STEPS + 1}
          placeOf={(index) => index / STEPS}
          headAt={(index) => `after ${span(secondsAt(index) * 1_000)}`}
          valuesAt={(index) => [{ label: 'arrived', colour: 1, text: arrivedAt(lines, secondsAt(index)) }]}
        >
          <span class="chart-most">{number(most)}</span>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${label}: up to ${number(most)} within ${span(lastSeconds * 1_000)}`}
          >
            {lines.map((line) => (
              <path
                key={line.seed}
                class={`line series-${colourOf(line)}`}
                d={stepsOf(line.arrivals, lastSeconds, most)}
                vector-effect="non-scaling-stroke"
              />
            ))}
          </svg>
        </CursorPlot>
        <div class="chart-times" aria-hidden="true">
          <span>0 s</span>
          <span>{span(lastSeconds * 1_000)}</span>
        </div>
      </figure>
      {lines.some(({ refused, broken }) => refused + broken > 0) && (
        <p class="note">Yellow: something was refused. Red: something was broken.</p>
      )}
    </Section>
  );
}

function colourOf({ refused, broken }: Timeline): number {
  if (broken > 0) return 3;
  return refused > 0 ? 4 : 1;
}

/** A line that rises by one at each arrival, and stays to the end. */
function stepsOf(arrivals: readonly number[], lastSeconds: number, most: number): string {
  const x = (seconds: number) => ((seconds / lastSeconds) * WIDTH).toFixed(1);
  const y = (count: number) => (HEIGHT - 2 - (count / most) * (HEIGHT - 6)).toFixed(1);
  return `M0 ${y(0)}${arrivals.map((seconds, n) => `H${x(seconds)}V${y(n + 1)}`).join('')}H${WIDTH}`;
}

/** `7`, or `5 to 9` where rehearsals differ. */
function arrivedAt(lines: readonly Timeline[], seconds: number): string {
  const counts = lines.map(({ arrivals }) => arrivals.filter((at) => at <= seconds + 1e-9).length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? number(least) : `${number(least)} to ${number(most)}`;
}
