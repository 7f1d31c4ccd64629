import type { Clock } from '#libs/domain/clock';

const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** How long ago a time was: `42s`, `7m`, `3h`, `12d`. */
export function ageOf(clock: Clock, atMs: number): string {
  return showSeconds((clock.now() - atMs) / 1000);
}

/** A duration in its largest unit that is at least two, rounded down. */
export function showSeconds(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.max(0, Math.floor(seconds / size))}${unit}`;
}
