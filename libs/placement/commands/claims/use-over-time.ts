import type { Resources } from '../../../domain/inventory';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import type { ProjectUsage } from '../../port/placement-store';

/** A project's amounts, and their changes day by day, as of the last change at `atMs`. */
export interface StoredUsage {
  readonly atMs: number;
  readonly amounts: Resources;
}

/** A bound on one count, however far a clock jumps. */
const MAX_COUNTED_DAYS = 32;
/** The name of the first day of a row that is not settled. */
export const SINCE = 'since';

/**
 * The time of a change beside that of the last one. A clock that is behind counts nothing twice, up to a day; one that is
 * further behind was set back, or ahead before.
 */
export function laterOf(lastMs: number, atMs: number): number {
  return lastMs > atMs && lastMs - atMs <= DAY_MS ? lastMs : atMs;
}

/** Amounts that a project holds. */
export function heldOf({ amounts }: Pick<StoredUsage, 'amounts'>): Resources {
  const held: Record<string, number> = {};
  for (const name in amounts) if (isHeld(name)) held[name] = amounts[name] as number;
  return held;
}

/**
 * The unit-milliseconds of each day that is not settled, until the row's time. Of what lies further back than
 * `MAX_COUNTED_DAYS` nothing is counted: a project is settled each day, so it is a clock that jumped.
 */
export function daysOf({ atMs, amounts }: StoredUsage): ProjectUsage['days'] {
  const last = Math.floor(atMs / DAY_MS);
  const changed = Object.keys(amounts).filter((name) => !isHeld(name) && name !== SINCE);
  const first = Math.min(amounts[SINCE] ?? last, ...changed.map((name) => Number.parseInt(name, 10)));
  const days: Record<string, Resources> = {};
  const held: Record<string, number> = { ...heldOf({ amounts }) };
  for (const name of changed) held[classOf(name)] ??= 0;
  for (let day = last; day >= Math.max(first, last - MAX_COUNTED_DAYS); day--) {
    const untilMs = Math.min(atMs, (day + 1) * DAY_MS);
    const sum: Record<string, number> = {};
    for (const name in held) {
      const more = amounts[`${day}+${name}`] ?? 0;
      const atStart = (held[name] as number) - more;
      const madeMs = (amounts[`${day} ${name}`] ?? 0) - more * ((day + 1) * DAY_MS - untilMs);
      const total = atStart * (untilMs - day * DAY_MS) + madeMs;
      if (total > 0) sum[name] = total;
      held[name] = atStart;
    }
    if (Object.keys(sum).length > 0) days[day] = sum;
  }
  return days;
}

/** The days of a project with what it has held since its last change, until a time. */
export function daysUntil(
  { used, atMs, days }: Pick<ProjectUsage, 'used' | 'atMs' | 'days'>,
  nowMs: number,
): ProjectUsage['days'] {
  const all: Record<string, Record<string, number>> = { ...days };
  let fromMs = Math.max(atMs, nowMs - MAX_COUNTED_DAYS * DAY_MS);
  while (fromMs < nowMs) {
    const day = Math.floor(fromMs / DAY_MS);
    const untilMs = Math.min(nowMs, (day + 1) * DAY_MS);
    const sum: Record<string, number> = { ...all[day] };
    for (const name in used) sum[name] = (sum[name] ?? 0) + (used[name] as number) * (untilMs - fromMs);
    all[day] = sum;
    fromMs = untilMs;
  }
  return all;
}

/** The amounts of a row after a class was renamed. */
export function withClassRenamed(amounts: Resources, name: string, newName: string): Resources {
  const renamed = (key: string) => (classOf(key) === name ? key.slice(0, key.length - name.length) + newName : key);
  return Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [renamed(key), amount]));
}

function classOf(name: string): string {
  return isHeld(name) ? name : name.slice(name.search(/[ +]/) + 1);
}

/** Neither a day's, which begins with a number, nor `SINCE`. */
export function isHeld(name: string): boolean {
  return name !== SINCE && !/^-?\d/.test(name);
}

/** Amounts after additions; none stays that is 0. */
export function withAmounts(amounts: Resources, adds: readonly (readonly [string, number])[]): Resources {
  const sum: Record<string, number> = { ...amounts };
  for (const [name, by] of adds) {
    sum[name] = (sum[name] ?? 0) + by;
    if (sum[name] === 0) delete sum[name];
  }
  return sum;
}
