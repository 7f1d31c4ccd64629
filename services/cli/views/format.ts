import type { Clock } from '#libs/domain/clock';

const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** The age of a time: `42s`, `7m`, `3h`, `12d`. */
export function ageOf(clock: Clock, atMs: number): string {
  return showSeconds((clock.now() - atMs) / 1000);
}

/** A duration in its largest unit with a value of at least two, rounded down: `119s`, `2m`. */
export function showSeconds(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.max(0, Math.floor(seconds / size))}${unit}`;
}

/** `1,234`, `123`, `12.3`: one decimal for fractions below 100. */
export function formatNumber(value: number): string {
  const fractionDigits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 1;
  return value.toLocaleString('en-US', {
    minimumFractionDigits: fractionDigits,
    maximumFractionDigits: fractionDigits,
  });
}

/** The number of items of each key, the most frequent first. */
export function countBy<T>(items: Iterable<T>, keyOf: (item: T) => string): [key: string, count: number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
