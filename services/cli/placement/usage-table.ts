import { type Terminal, table } from '../terminal';
import type { UsagesByType } from './documents';
import { compareClasses } from './stock';

/** What consumers hold, a line for each type of them and, of several, one for all. */
export function usageTable(terminal: Terminal, usages: UsagesByType): string {
  const { bold } = terminal.colours;
  const types = Object.entries(usages).sort(([a], [b]) => a.localeCompare(b));
  const keys = new Set(types.flatMap(([, amounts]) => Object.keys(amounts)));
  keys.delete('consumer_count');
  const classes = [...keys].sort(compareClasses);
  const rows = types.map(([type, amounts]) => [
    type,
    amounts.consumer_count,
    ...classes.map((resourceClass) => amounts[resourceClass] ?? 0),
  ]);
  const sums = ['consumer_count', ...classes].map((key) =>
    types.reduce((sum, [, amounts]) => sum + (amounts[key] ?? 0), 0),
  );
  if (rows.length > 1) rows.push([bold('together'), ...sums]);
  return table(terminal, ['CONSUMER TYPE', 'CONSUMERS', ...classes], rows);
}
