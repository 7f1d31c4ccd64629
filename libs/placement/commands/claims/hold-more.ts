import type { Resources } from '../../../domain/inventory';
import { DAY_MS } from '../../../domain/quotas/utc-day';
import type { Write } from '../transaction';

/**
 * Changes what a project holds from a time on, by sums that commute: nobody reads the row before adding to it. By class,
 * the amount held; and for the day of the change, `<day>+<class>`, how much more it holds at the day's end than at its start,
 * and `<day> <class>`, the unit-milliseconds that the change makes until the day's end. `daysOf` reads the use of each day
 * from these.
 */
export function holdMore(key: string, by: Resources, atMs: number): readonly Write[] {
  const day = Math.floor(atMs / DAY_MS);
  const restMs = (day + 1) * DAY_MS - atMs;
  const amounts: [string, number][] = [];
  for (const name in by) {
    const amount = by[name] as number;
    if (amount === 0) continue;
    const [more, unitMs] = namesOf(day, name);
    amounts.push([name, amount], [more, amount], [unitMs, amount * restMs]);
  }
  if (amounts.length === 0) return [];
  return [
    { kind: 'add', table: 'project_usage', key, amounts },
    { kind: 'stamp', key, atMs },
  ];
}

const MAX_NAMES = 1_000;
const names = new Map<string, { readonly day: number; readonly names: readonly [more: string, unitMs: string] }>();

/** The names of a class's sums of a day: the same for every claim of the day. */
function namesOf(day: number, name: string): readonly [more: string, unitMs: string] {
  const known = names.get(name);
  if (known?.day === day) return known.names;
  const made = [`${day}+${name}`, `${day} ${name}`] as const;
  if (names.size >= MAX_NAMES) names.clear();
  names.set(name, { day, names: made });
  return made;
}
