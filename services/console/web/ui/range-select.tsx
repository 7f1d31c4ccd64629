import { setQuery, usePlace } from '../state/router';

/** Chooses a time range, which the address keeps. */
export function RangeSelect({
  ranges,
  standard,
}: {
  ranges: readonly (readonly [value: string, label: string])[];
  standard: string;
}) {
  const { query } = usePlace();
  return (
    <label class="inline">
      Time range{' '}
      <select
        value={query.get('range') ?? standard}
        onChange={(change) => {
          const { value } = change.currentTarget;
          setQuery({ range: value === standard ? undefined : value });
        }}
      >
        {ranges.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Ranges of the history that a console keeps. */
export const HISTORY_RANGES = [
  ['5m', '5 minutes'],
  ['15m', '15 minutes'],
  ['', 'all that is kept'],
] as const;

/** The last points of a history within the address's range; all without one. */
export function pointsIn(range: string | null, stepMs: number): number {
  const minutes = Number(/^(\d+)m$/.exec(range ?? '')?.[1] ?? 0);
  return minutes === 0 ? Number.POSITIVE_INFINITY : Math.max(2, Math.ceil((minutes * 60_000) / stepMs));
}
