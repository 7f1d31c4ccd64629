import type { ProjectUsageView } from '#libs/contracts/quotas';

const HEAD = 'project,day,class,unit_seconds,unit_hours';
const HOUR_S = 3_600;

/** Usage of projects as CSV (RFC 4180), a row for each project, day and class; the seconds are the ledger's own numbers. */
export function usageCsv(usages: readonly ProjectUsageView[]): string {
  const rows = usages.flatMap(({ projectId, days }) =>
    days.flatMap(({ day, unitSeconds }) =>
      Object.entries(unitSeconds).map(([name, seconds]) =>
        [quoted(projectId), day, name, String(seconds), String(seconds / HOUR_S)].join(','),
      ),
    ),
  );
  return [HEAD, ...rows].join('\n');
}

/** Quoted where a comma, a quote or a line break would end the field; a formula of a spreadsheet becomes a text. */
function quoted(text: string): string {
  const plain = /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
