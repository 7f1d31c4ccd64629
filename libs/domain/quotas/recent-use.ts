import type { Resources } from '../inventory';
import { DAY_MS } from './utc-day';

/** Average of what a project held, each moment weighed by 2^(-age / half-life), as of a time. */
export interface RecentUse {
  readonly projectId: string;
  /** The time up to which it counts. */
  readonly atMs: number;
  /** By resource class, and `instances`: each is at least 0 and at most the most that was ever held. */
  readonly averages: Resources;
  /** Unit-milliseconds of the day of `atMs` that it includes. */
  readonly counted: Resources;
  /** Amounts held at `atMs`. */
  readonly held: Resources;
  /** The last time at which the project was seen to have got something. */
  readonly gainedAtMs: number;
}

/** The counts of a project's use: exact sums by day, and the amounts held since the last change. */
export interface UseLedger {
  readonly projectId: string;
  readonly used: Resources;
  /** The last change of `used`. */
  readonly atMs: number;
  /** Unit-milliseconds up to `atMs`, by day counted from 1970. */
  readonly days: Readonly<Record<string, Resources>>;
}

/** A class with less is forgotten: a millionth of a unit. */
const LEAST = 1e-6;
/** Difference of clocks that are set. */
const CLOCKS_MS = 60_000;

/**
 * Recent use at a time: from what was known last, and from the ledger since.
 *
 * The naive way adds, with each claim, its amount times an exponential of the time. Then everyone who claims must know the
 * half-life, a change of it makes all sums wrong, and numbers grow without bound. Here only what was counted anyway is read:
 * the sum since the last sample is exact whatever was claimed and released in between, and what is held unchanged ages
 * exactly. A sample has its time, its averages and the sums in them, so it is right by itself: any number of samplers may
 * overwrite each other's. Only *when* within a sample's interval, or a day of history, something was held is taken as even.
 * As an average it needs no change when the half-life does.
 *
 * A clock that is a little behind ages nothing; one that is further behind was set back, and the count goes on from there. Of
 * a ledger that a clock ahead has stamped, the sums lie in the future: until then what is held counts. So an average never
 * leaves what was held.
 */
export function recentUseAt(
  last: RecentUse | undefined,
  ledger: UseLedger,
  { nowMs, halfLifeMs }: { readonly nowMs: number; readonly halfLifeMs: number },
): RecentUse {
  const { projectId, used } = ledger;
  const behindMs = last === undefined ? 0 : last.atMs - nowMs;
  if (last && behindMs > 0 && behindMs <= CLOCKS_MS) return last;
  const counted = countedOf(ledger, nowMs);
  const gainedAtMs = Math.min(nowMs, last && !hasGained(last, ledger) ? last.gainedAtMs : ledger.atMs);
  const sample = { projectId, atMs: nowMs, counted, held: used, gainedAtMs };
  if (last && behindMs > 0) return { ...sample, averages: last.averages };
  const average = new Average(last?.averages ?? {}, halfLifeMs);
  let atMs = last?.atMs ?? 0;
  const changedMs = ledger.atMs > nowMs ? atMs : Math.max(atMs, ledger.atMs);
  const days = Object.keys(ledger.days).map(Number);
  for (const day of days.sort((a, b) => a - b)) {
    const [fromMs, toMs] = [Math.max(atMs, day * DAY_MS), Math.min(changedMs, (day + 1) * DAY_MS)];
    if (toMs <= fromMs) continue;
    const sums = ledger.days[day] as Resources;
    const isCountedInPart = last !== undefined && Math.floor(last.atMs / DAY_MS) === day;
    average.hold({}, fromMs - atMs);
    average.hold(perMs(sums, isCountedInPart ? last.counted : {}, toMs - fromMs), toMs - fromMs);
    atMs = toMs;
  }
  average.hold({}, changedMs - atMs);
  average.hold(used, nowMs - changedMs);
  return { ...sample, averages: average.amounts() };
}

/** An average that ages by its half-life while amounts are held. */
class Average {
  #amounts: Record<string, number>;

  constructor(
    amounts: Resources,
    private readonly halfLifeMs: number,
  ) {
    this.#amounts = { ...amounts };
  }

  hold(amounts: Resources, durationMs: number): void {
    if (durationMs <= 0) return;
    // Exact for short times, where 1 - 2^-x would lose its digits.
    const fresh = -Math.expm1((-durationMs / this.halfLifeMs) * Math.LN2);
    for (const name of new Set([...Object.keys(this.#amounts), ...Object.keys(amounts)])) {
      const before = this.#amounts[name] ?? 0;
      this.#amounts[name] = before + fresh * ((amounts[name] ?? 0) - before);
    }
  }

  amounts(): Resources {
    return Object.fromEntries(Object.entries(this.#amounts).filter(([, amount]) => amount >= LEAST));
  }
}

/** Average amounts over a time, from sums less those that were counted before. */
function perMs(sums: Resources, counted: Resources, durationMs: number): Resources {
  const more = (name: string) => Math.max(0, (sums[name] ?? 0) - (counted[name] ?? 0));
  return Object.fromEntries(Object.keys(sums).map((name) => [name, more(name) / durationMs]));
}

/** Unit-milliseconds of the present day. */
function countedOf({ used, atMs, days }: UseLedger, nowMs: number): Resources {
  const today = Math.floor(nowMs / DAY_MS);
  const counted: Record<string, number> = { ...days[today] };
  const sinceMs = Math.max(0, nowMs - Math.max(atMs, today * DAY_MS));
  for (const name in used) counted[name] = (counted[name] ?? 0) + (used[name] as number) * sinceMs;
  return counted;
}

/**
 * True if the project got something since the sample: it holds more of something, or others were exchanged. Settling, which
 * changes a row's time once a day, is no gain; nor is a release.
 */
function hasGained(last: RecentUse, { used, atMs }: UseLedger): boolean {
  const names = new Set([...Object.keys(last.held), ...Object.keys(used)]);
  const changes = [...names].map((name) => (used[name] ?? 0) - (last.held[name] ?? 0));
  if (changes.some((change) => change > 0)) return true;
  const isSameDay = Math.floor(last.atMs / DAY_MS) === Math.floor(atMs / DAY_MS);
  return atMs > last.atMs && isSameDay && changes.every((change) => change === 0);
}
