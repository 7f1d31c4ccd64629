export const DAY_MS = 86_400_000;

/** The name of a time's UTC day: `2026-11-22`. */
export function dayName(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The start of a named UTC day, in milliseconds since the epoch; undefined for another text, `2026-02-30`, and days before 1970. */
export function dayStart(name: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(name) ? Date.parse(`${name}T00:00:00Z`) : Number.NaN;
  return ms >= 0 && dayName(ms) === name ? ms : undefined;
}
