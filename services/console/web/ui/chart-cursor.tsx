import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { dateOf, timeOf } from './format';

/** A value at the cursor, with its series. */
interface CursorValue {
  readonly label: string;
  readonly colour: number;
  readonly text: string;
}

/**
 * The plot of a chart, with a cursor for the pointer and for arrow keys: it tells the place, as a time, and the values there.
 *
 * @param count  the columns or points of the plot
 * @param placeOf  the place of one, as a share of the width
 */
export function CursorPlot({
  label,
  count,
  placeOf,
  headAt,
  valuesAt,
  children,
}: {
  label: string;
  count: number;
  placeOf: (index: number) => number;
  headAt: (index: number) => ComponentChildren;
  valuesAt: (index: number) => readonly CursorValue[];
  children: ComponentChildren;
}) {
  const [at, setAt] = useState<number | undefined>();
  const nearest = (share: number) => {
    let best = 0;
    for (let i = 1; i < count; i++) if (Math.abs(placeOf(i) - share) < Math.abs(placeOf(best) - share)) best = i;
    return best;
  };
  const index = at === undefined || count === 0 ? undefined : Math.min(at, count - 1);
  return (
    <div
      class="chart-plot"
      tabIndex={0}
      role="group"
      aria-label={`${label}: arrow keys tell the values`}
      onPointerMove={(pointer) => {
        const { left, width } = pointer.currentTarget.getBoundingClientRect();
        setAt(nearest((pointer.clientX - left) / Math.max(1, width)));
      }}
      onPointerLeave={() => setAt(undefined)}
      onBlur={() => setAt(undefined)}
      onKeyDown={(key) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[key.key];
        if (by === undefined || count === 0) return;
        key.preventDefault();
        setAt(Math.min(count - 1, Math.max(0, (index ?? count) + by)));
      }}
    >
      {children}
      {index !== undefined && <span class="chart-cursor" style={{ left: `${placeOf(index) * 100}%` }} />}
      <div class="chart-tip-live" aria-live="polite">
        {index !== undefined && (
          <div
            class="chart-tip"
            style={
              placeOf(index) < 0.5 ? { left: `${placeOf(index) * 100}%` } : { right: `${(1 - placeOf(index)) * 100}%` }
            }
          >
            <strong>{headAt(index)}</strong>
            {valuesAt(index).map(({ label: name, colour, text }) => (
              <Swatch key={name} colour={colour} text={`${name} ${text}`} />
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

/** A time of the day, with its date as the title. */
export function TimeHead({ ms }: { ms: number }) {
  return <span title={dateOf(ms)}>{timeOf(ms)}</span>;
}

/** A text beside the colour of its series. */
export function Swatch({ colour, text }: { colour: number; text: string }) {
  return (
    <span>
      <i class={`swatch series-${colour}`} aria-hidden="true" />
      {text}
    </span>
  );
}
