import type { FleetHost } from '../../api/fleet';
import { amount, className, percent, plural, span } from '../ui/format';

/** The meaning of a cell's colour: a value from 0 to 1, and in words. */
export interface Measure {
  readonly key: string;
  readonly label: string;
  readonly ends: readonly [string, string];
  /** Undefined for a host without it. */
  share(host: FleetHost, nowMs: number): number | undefined;
  say(host: FleetHost, nowMs: number): string;
  readonly scale: 'fill' | 'alarm';
}

const MOST_FAILURES = 5;
const OLDEST_MS = 120_000;
const MOST_IO_OPS = 8;

/** All measures of a fleet with these classes: the usage of each class first. */
export function measuresOf(classes: readonly string[]): Measure[] {
  const fullness = classes.map((name, i): Measure => {
    return {
      key: name,
      label: className(name),
      ends: ['empty', 'full'],
      scale: 'fill',
      share: ({ used, capacity }) => (capacity[i] ? (used[i] ?? 0) / capacity[i] : undefined),
      say: ({ used, capacity }) =>
        capacity[i]
          ? `${amount(name, used[i] ?? 0)} of ${amount(name, capacity[i])} (${percent((used[i] ?? 0) / capacity[i])})`
          : 'none',
    };
  });
  return [
    ...fullness,
    {
      key: 'failures',
      label: 'Failures',
      ends: ['none', `${MOST_FAILURES} or more`],
      scale: 'alarm',
      share: ({ failures }) => failures / MOST_FAILURES,
      say: ({ failures, failuresInARow }) => `${plural(failures, 'failure')} lately, ${failuresInARow} in a row`,
    },
    {
      key: 'age',
      label: 'Age of report',
      ends: ['now', span(OLDEST_MS)],
      scale: 'alarm',
      share: ({ updatedAtMs }, nowMs) => (nowMs - updatedAtMs) / OLDEST_MS,
      say: ({ updatedAtMs }, nowMs) => `${span(Math.max(0, nowMs - updatedAtMs))} ago`,
    },
    {
      key: 'pressure',
      label: 'Pressure',
      ends: ['idle', `${MOST_IO_OPS} or more`],
      scale: 'alarm',
      share: ({ ioOps }) => ioOps / MOST_IO_OPS,
      say: ({ ioOps }) => `${plural(ioOps, 'heavy operation')} in progress`,
    },
  ];
}

/** Steps of a scale, as CSS colours; the theme names its stops. */
export function scaleOf(stops: readonly string[]): readonly string[] {
  const rgb = stops.map((hex) => [1, 3, 5].map((at) => Number.parseInt(hex.trim().slice(at, at + 2), 16)));
  return Array.from({ length: STEPS }, (_, step) => {
    const at = (step / (STEPS - 1)) * (rgb.length - 1);
    const [low = [], high = []] = [rgb[Math.floor(at)], rgb[Math.min(rgb.length - 1, Math.floor(at) + 1)]];
    const mixed = low.map((value, i) => Math.round(value + ((high[i] ?? value) - value) * (at - Math.floor(at))));
    return `rgb(${mixed.join(' ')})`;
  });
}

const STEPS = 24;

export function colourAt(scale: readonly string[], share: number): string {
  const step = Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
  return scale[step] as string;
}
