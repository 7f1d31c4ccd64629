import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import { USAGE_BY, type UsageBy } from '#libs/contracts/quotas';
import { DAY_MS, dayStart } from '#libs/domain/quotas/utc-day';
import { type AnswerFlags, showAnswer } from '../../answers/answer';
import type { Context } from '../../context';
import { compareClasses } from '../../views/fill';
import { table } from '../../views/table';
import { namesOf, type UsageRow, usageCsv } from './usage-csv';

/** The first day: a date (UTC), or a number of days before today. */
export type Since = { readonly dayMs: number } | { readonly daysAgo: number };

/**
 * Prints the daily usage of projects, in unit-seconds: VCPU-seconds, MEMORY_MB-seconds, instance-seconds. With `by` it is
 * shared out by user, flavor or instance; with `total` the days are summed up.
 */
export async function showUsageSince(
  client: Client,
  context: Context,
  flags: AnswerFlags & {
    readonly since: Since;
    /** The last day. */
    readonly until?: string | undefined;
    readonly project?: string | undefined;
    readonly csv: boolean;
    readonly by?: readonly UsageBy[] | undefined;
    readonly total: boolean;
  },
): Promise<void> {
  const { since, until, project, csv, by = [], total } = flags;
  const { clock } = context;
  const sinceMs = 'dayMs' in since ? since.dayMs : Math.max(0, clock.now() - since.daysAgo * DAY_MS);
  const read = async () => {
    const asked = { sinceMs, untilMs: until === undefined ? 0 : (dayStart(until) ?? 0), projectId: project ?? '' };
    const usages: readonly UsageRow[] =
      by.length > 0 ? await client.usageShares(by, asked) : await client.usage(sinceMs, project);
    const each = usages.map((usage) => {
      const days = usage.days.filter(({ day }) => until === undefined || day <= until);
      return { ...usage, days: total ? inOne(days) : days };
    });
    return each.filter(({ days }) => days.length > 0);
  };
  if (csv) return context.terminal.print(usageCsv(await read(), by));
  await showAnswer(context, flags, async () => {
    const usages = await read();
    return {
      plain: usages,
      names: usages.map(({ projectId }) => projectId),
      draw: (terminal) =>
        terminal.print(usages.length === 0 ? 'Nothing was held since then.' : usageTable(usages, by, terminal)),
    };
  });
}

/** The sum of some days, under the name of the first and the last. */
function inOne(days: UsageRow['days']): UsageRow['days'] {
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  if (first === undefined) return [];
  const unitSeconds: Record<string, number> = {};
  for (const day of days) {
    for (const [name, amount] of Object.entries(day.unitSeconds)) unitSeconds[name] = (unitSeconds[name] ?? 0) + amount;
  }
  return [{ day: first === last ? first : `${first}..${last}`, unitSeconds }];
}

function usageTable(usages: readonly UsageRow[], by: readonly UsageBy[], terminal: Context['terminal']): string {
  const days = usages.flatMap((usage) => {
    const owner = [usage.projectId, ...namesOf(usage, by).map((name) => name || '-')];
    return usage.days.map((day) => ({ owner, ...day }));
  });
  const classes = [...new Set(days.flatMap(({ unitSeconds }) => Object.keys(unitSeconds)))].sort(compareClasses);
  const rows = days.map(({ owner, day, unitSeconds }) => [
    ...owner,
    day,
    ...classes.map((name) => Math.round(unitSeconds[name] ?? 0)),
  ]);
  return table(
    terminal,
    ['PROJECT', ...by.map((one) => one.toUpperCase()), 'DAY', ...classes.map((name) => `${name} s`)],
    rows,
  );
}

/** The parser of `user,flavor`. */
export function sharedBy(text: string): readonly UsageBy[] {
  const names = [...new Set(text.split(','))];
  if (names.every((name) => (USAGE_BY as readonly string[]).includes(name))) return names as UsageBy[];
  throw new InvalidArgumentError(`It must be one of ${USAGE_BY.join(', ')}, or several with commas between.`);
}

/** The parser of `2026-11-30`. */
export function lastDay(text: string): string {
  if (dayStart(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be a day such as 2026-11-30.');
}

/** The parser of `2026-11-01` and `7d`. */
export function sinceDay(text: string): Since {
  const [, days] = /^(\d{1,4})d$/.exec(text) ?? [];
  if (days !== undefined) return { daysAgo: Number(days) };
  const dayMs = dayStart(text);
  if (dayMs !== undefined) return { dayMs };
  throw new InvalidArgumentError('It must be a day such as 2026-11-01, or a number of days such as 7d.');
}
