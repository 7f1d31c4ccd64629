import type { ProjectUsageView, UsageBy, UsageShareView } from '#libs/contracts/quotas';

const HOUR_S = 3_600;

/** Usage of a project, or a share of it. */
export type UsageRow = ProjectUsageView & Partial<UsageShareView>;

/**
 * Usage of projects as CSV (RFC 4180), a row for each project, share, day and class; the seconds are the ledger's own numbers.
 *
 * @param by  what it is shared out by: a column each
 */
export function usageCsv(usages: readonly UsageRow[], by: readonly UsageBy[] = []): string {
  const rows = usages.flatMap((usage) =>
    usage.days.flatMap(({ day, unitSeconds }) =>
      Object.entries(unitSeconds).map(([name, seconds]) => {
        const owner = [usage.projectId, ...namesOf(usage, by)].map(quoted);
        return [...owner, day, name, String(seconds), String(seconds / HOUR_S)].join(',');
      }),
    ),
  );
  return [['project', ...by, 'day', 'class', 'unit_seconds', 'unit_hours'].join(','), ...rows].join('\n');
}

/** The names of a share, '' for those that are not known. */
export function namesOf({ userId, flavor, instanceUuid }: UsageRow, by: readonly UsageBy[]): string[] {
  const names = { user: userId, flavor, instance: instanceUuid };
  return by.map((one) => names[one] ?? '');
}

/** Quoted where a comma, a quote or a line break would end the field; a formula of a spreadsheet becomes a text. */
function quoted(text: string): string {
  const plain = /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
