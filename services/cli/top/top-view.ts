import type { HostSummary } from '#libs/contracts/hosts';
import type { InstanceEvent } from '#libs/contracts/instance';
import type { Clock } from '#libs/domain/clock';
import { nameOfState } from '#libs/domain/instance';
import { attemptSummary } from '../views/attempt-summary';
import { gaugeOf } from '../views/fill';
import { ageOf, countBy, formatNumber } from '../views/format';
import { bar, type Gauge, table } from '../views/table';
import type { Terminal } from '../views/terminal';

/** The content of `berth top` at one moment. */
export interface Moment {
  readonly hosts: readonly HostSummary[];
  /** Recent events of instances, oldest first. */
  readonly events: readonly InstanceEvent[];
  /** Window of the rates. */
  readonly windowMs: number;
}

/** Sort keys of the hosts. */
export const SORTINGS = ['use', 'name', 'instances', 'failures'] as const;
export type Sorting = (typeof SORTINGS)[number];

const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'] as const;
/** Lines besides the rows: the figures, two heads, blank lines. */
const OTHER_LINES = 11;
const TOTAL_BAR_WIDTH = 20;
/** States in which a build has ended, or waits. */
const TOLD = new Set(['active', 'error', 'deleted', 'pending']);

/** The number of lines, and the order of hosts. */
interface Screen {
  readonly height: number;
  readonly by: Sorting;
}

/** The lines of a screen of this height: figures, then as many hosts and builds as fit. */
export function topLines(terminal: Terminal, clock: Clock, moment: Moment, { height, by }: Screen): string[] {
  const room = Math.max(2, height - OTHER_LINES);
  const events = moment.events.filter(({ state }) => TOLD.has(state)).toReversed();
  const hostCount = Math.min(moment.hosts.length, Math.max(1, room - Math.min(events.length, Math.ceil(room / 2))));
  const hosts = moment.hosts.toSorted(COMPARE[by]).slice(0, hostCount);
  const shown = events.slice(0, Math.max(1, room - hostCount));
  return [
    ...figures(terminal, clock, moment),
    '',
    ...hostTable(terminal, hosts).split('\n'),
    terminal.colours.dim(hosts.length < moment.hosts.length ? `and ${moment.hosts.length - hosts.length} more` : ''),
    ...buildTable(terminal, clock, shown).split('\n'),
  ];
}

function figures(terminal: Terminal, clock: Clock, { hosts, events, windowMs }: Moment): string[] {
  const { bold, red } = terminal.colours;
  const states = countBy(hosts, statusOf).map(([status, count]) => `${formatNumber(count)} ${status}`);
  const lately = events.filter(({ atMs }) => atMs >= clock.now() - windowMs);
  const rate = (state: string) => lately.filter((event) => event.state === state).length / (windowMs / 1_000);
  const failing = rate('error');
  const errors = `${formatNumber(failing)} ERROR/s`;
  const instances = hosts.reduce((sum, host) => sum + host.instances, 0);
  const nameWidth = Math.max(...CLASSES.map((name) => name.length));
  const totals = CLASSES.map((name) => {
    const fills = hosts.map((host) => fillOf(host, name));
    const used = fills.reduce((sum, fill) => sum + fill.used, 0);
    const capacity = fills.reduce((sum, fill) => sum + fill.capacity, 0);
    const amounts = `${formatNumber(used)} of ${formatNumber(capacity)}`;
    return `${name.padEnd(nameWidth)} ${bar(terminal, used, capacity, TOTAL_BAR_WIDTH)} ${amounts}`;
  });
  return [
    `${bold('hosts')} ${formatNumber(hosts.length)}: ${states.join(', ') || 'none has reported'}`,
    `${bold('instances')} ${formatNumber(instances)}   ${formatNumber(rate('active'))} ACTIVE/s, ${failing > 0 ? red(errors) : errors}`,
    ...totals,
  ];
}

function hostTable(terminal: Terminal, hosts: readonly HostSummary[]): string {
  const head = ['HOST', 'STATUS', 'ZONE', 'INSTANCES', 'BUILDING', 'FAILURES', 'VCPU', 'MEMORY', 'DISK'];
  const rows = hosts.map((host) => [
    host.host,
    statusOf(host),
    host.availabilityZone || '-',
    host.instances,
    host.ioOps,
    host.failures,
    ...CLASSES.map((name) => fillOf(host, name)),
  ]);
  const spare = { first: [head.indexOf('BUILDING')], last: [head.indexOf('ZONE'), head.indexOf('FAILURES')] };
  return table(terminal, head, rows, spare);
}

/** One line each, of any length: the screen cuts it. */
function buildTable(terminal: Terminal, clock: Clock, events: readonly InstanceEvent[]): string {
  if (events.length === 0) return terminal.colours.dim('no build has ended since this began');
  const rows = events.map((event) => [
    `${ageOf(clock, event.atMs)} ago`,
    nameOfState(event.state),
    event.name,
    event.host || '-',
    event.projectId,
    attemptSummary(event),
  ]);
  const unwrapped = { ...terminal, columns: undefined };
  return table(unwrapped, ['WHEN', 'STATE', 'NAME', 'HOST', 'PROJECT', 'ATTEMPTS'], rows);
}

function statusOf({ up, enabled, quarantinedUntilMs }: HostSummary): string {
  if (!up) return 'down';
  if (!enabled) return 'disabled';
  return quarantinedUntilMs > 0 ? 'quarantine' : 'up';
}

function fillOf(host: HostSummary, resourceClass: string): Gauge {
  return gaugeOf(host, resourceClass) ?? { used: 0, capacity: 0 };
}

/** The used share of its fullest class. */
function useOf(host: HostSummary): number {
  const fills = CLASSES.map((name) => fillOf(host, name));
  return Math.max(...fills.map(({ used, capacity }) => (capacity > 0 ? used / capacity : 0)));
}

const byName = (a: HostSummary, b: HostSummary) => a.host.localeCompare(b.host, 'en', { numeric: true });

const COMPARE: Readonly<Record<Sorting, (a: HostSummary, b: HostSummary) => number>> = {
  name: byName,
  use: (a, b) => useOf(b) - useOf(a) || byName(a, b),
  instances: (a, b) => b.instances - a.instances || byName(a, b),
  failures: (a, b) => b.failures - a.failures || byName(a, b),
};
