import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { ProjectUsageView } from '#libs/contracts/quotas';
import { DAY_MS, dayStart } from '#libs/domain/quotas/utc-day';
import { type AnswerFlags, showAnswer } from '../../answers/answer';
import type { Context } from '../../context';
import { compareClasses } from '../../views/fill';
import { table } from '../../views/table';
import { usageCsv } from './usage-csv';

/** The first day: a date (UTC), or a number of days before today. */
export type Since = { readonly dayMs: number } | { readonly daysAgo: number };

/** Prints the daily usage of projects, in unit-seconds: VCPU-seconds, MEMORY_MB-seconds, instance-seconds. */
export async function showUsageSince(
  client: Client,
  context: Context,
  flags: AnswerFlags & {
    readonly since: Since;
    /** The last day. */
    readonly until?: string | undefined;
    readonly project?: string | undefined;
    readonly csv: boolean;
  },
): Promise<void> {
  const { since, until, project, csv } = flags;
  const { clock } = context;
  const sinceMs = 'dayMs' in since ? since.dayMs : Math.max(0, clock.now() - since.daysAgo * DAY_MS);
  const read = async () => {
    const each = (await client.usage(sinceMs, project)).map(({ projectId, days }) => {
      return { projectId, days: days.filter(({ day }) => until === undefined || day <= until) };
    });
    return each.filter(({ days }) => days.length > 0);
  };
  if (csv) return context.terminal.print(usageCsv(await read()));
  await showAnswer(context, flags, async () => {
    const usages = await read();
    return {
      plain: usages,
      names: usages.map(({ projectId }) => projectId),
      draw: (terminal) =>
        terminal.print(usages.length === 0 ? 'Nothing was held since then.' : usageTable(usages, terminal)),
    };
  });
}

function usageTable(usages: readonly ProjectUsageView[], terminal: Context['terminal']): string {
  const days = usages.flatMap(({ projectId, days: each }) => each.map((day) => ({ projectId, ...day })));
  const classes = [...new Set(days.flatMap(({ unitSeconds }) => Object.keys(unitSeconds)))].sort(compareClasses);
  const rows = days.map(({ projectId, day, unitSeconds }) => [
    projectId,
    day,
    ...classes.map((name) => Math.round(unitSeconds[name] ?? 0)),
  ]);
  return table(terminal, ['PROJECT', 'DAY', ...classes.map((name) => `${name} s`)], rows);
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
