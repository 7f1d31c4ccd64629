import type { Diagnosis, HostVerdict, ZoneVerdict } from '#libs/contracts/diagnosis';
import { counted } from '#libs/runtime/counted';
import { groupBy } from '#libs/runtime/group-by';
import { formatNumber } from '../../views/format';
import { table } from '../../views/table';
import { type Terminal, wrapped } from '../../views/terminal';

/** Prints the number of hosts that fit, and each filter that refuses some. */
export function showDiagnosis(terminal: Terminal, diagnosis: Diagnosis): void {
  terminal.print(terminal.colours.bold(wrapped(terminal, diagnosis.summary)));
  const filters = diagnosis.filters.filter((filter) => filter.refused > 0);
  if (filters.length === 0) return;
  const rows = filters.map(({ filter, refused, reasons }) => [filter, refused, showReasons(reasons)]);
  terminal.print(`\n${table(terminal, ['FILTER', 'REFUSED', 'REASONS'], rows)}`);
}

/** Prints hosts with their weights, or the reason of their refusal; the selected ones are marked. */
export function showHosts(
  terminal: Terminal,
  hosts: readonly HostVerdict[],
  selected: ReadonlySet<string> = new Set(),
): void {
  if (hosts.length === 0) return;
  const { bold, green, red } = terminal.colours;
  const rows = hosts.map(({ host, passed, weight, weights, refusals }) => [
    selected.has(host) ? bold(`${host} *`) : host,
    passed ? green('yes') : red('no'),
    passed ? weight.toFixed(3) : '-',
    passed ? showWeights(weights) : refusals.join('; '),
  ]);
  terminal.print(`\n${table(terminal, ['HOST', 'FITS', 'WEIGHT', 'BECAUSE'], rows)}`);
}

/**
 * Prints how many instances of which shapes would no longer fit after an instance on a host; hosts with equal numbers
 * together.
 */
export function showRoomCosts(terminal: Terminal, hosts: readonly HostVerdict[]): void {
  const sameCosts = groupBy(hosts, ({ roomCosts }) => JSON.stringify(roomCosts));
  const mostFirst = [...sameCosts.values()].sort((a, b) => b.length - a.length);
  const rows = mostFirst.flatMap(([first, ...others]) => {
    const more = others.length > 0 ? ` and ${counted(others.length, 'other')}` : '';
    return (first?.roomCosts ?? []).map(({ resources, fewer, fits }, i) => {
      const shape = Object.entries(resources).map(([name, amount]) => `${name} ${formatNumber(amount)}`);
      return [i === 0 ? `${first?.host}${more}` : '', shape.join(', '), fewer, fits];
    });
  });
  if (rows.length === 0) return;
  terminal.print(`\n${terminal.colours.bold('after it, fewer of the usual requests fit:')}`);
  terminal.print(table(terminal, ['HOST', 'REQUEST', 'FEWER BY', 'FIT NOW'], rows));
}

/** Prints the zones for the next member of a group that spreads over zones, the chosen one first. */
export function showZones(terminal: Terminal, zones: readonly ZoneVerdict[]): void {
  const { green, red } = terminal.colours;
  const rows = zones.map(({ zone, members, cells, reason }) => [
    zone,
    members,
    reason === '' ? green('yes') : red('no'),
    reason || cells.join(', '),
  ]);
  terminal.print(`\n${table(terminal, ['ZONE', 'MEMBERS', 'NEXT', 'CELLS, OR WHY NOT'], rows)}`);
}

function showReasons(reasons: Readonly<Record<string, number>>): string {
  return Object.entries(reasons)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${formatNumber(count)}`)
    .join(', ');
}

/** The weighers with a weight other than 0, the heaviest first. */
function showWeights(weights: Readonly<Record<string, number>>): string {
  return Object.entries(weights)
    .filter(([, weight]) => weight !== 0)
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .map(([weigher, weight]) => `${weigher} ${weight.toFixed(2)}`)
    .join(', ');
}
