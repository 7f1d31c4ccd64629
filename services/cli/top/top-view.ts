import type { HostSummary, InstanceEvent } from '#libs/contracts/messages';
import type { Clock } from '#libs/domain/clock';
import { capacityOf } from '#libs/domain/inventory';
import { attemptSummary } from '../views/attempt-summary';
import { ageOf, countBy, formatNumber } from '../views/format';
import { bar, table } from '../views/table';
import type { Terminal } from '../views/terminal';

/** What `berth top` shows at one moment. */
export interface Moment {
  readonly hosts: readonly HostSummary[];
  /** What became of instances lately, oldest first. */
  readonly events: readonly InstanceEvent[];
  /** The rates are of what is not older. */
  readonly windowMs: number;
}

/** What rows of hosts are sorted by. */
export const SORTINGS = ['use', 'name', 'instances', 'failures'] as const;
export type Sorting = (typeof SORTINGS)[number];

const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'] as const;
/** Lines that are no rows: the figures, two heads, blank lines. */
const OTHER_LINES = 9;
/** States in which a build has ended, or waits. */
const TOLD = new Set(['active', 'error', 'deleted', 'pending']);

/** The lines of a screen so high: figures, then as many hosts and builds as fit. */
export function topLines(terminal: Terminal, clock: Clock, moment: Moment, height: number, by: Sorting): string[] {
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
  const totals = CLASSES.map((name) => {
    const [used, capacity] = hosts
      .map((host) => fillOf(host, name))
      .reduce(([u, c], [u2, c2]) => [u + u2, c + c2], [0, 0]);
    return `${name} ${bar(terminal, used, capacity)} ${formatNumber(used)} of ${formatNumber(capacity)}`;
  });
  return [
    `${bold('hosts')} ${formatNumber(hosts.length)}: ${states.join(', ') || 'none has reported'}`,
    `${bold('instances')} ${formatNumber(instances)}   ${formatNumber(rate('active'))} ACTIVE/s, ${failing > 0 ? red(errors) : errors}`,
    totals.join('   '),
  ];
}

function hostTable(terminal: Terminal, hosts: readonly HostSummary[]): string {
  const rows = hosts.map((host) => [
    host.host,
    statusOf(host),
    host.availabilityZone || '-',
    host.instances,
    host.ioOps,
    host.failures,
    ...CLASSES.map((name) => bar(terminal, ...fillOf(host, name))),
  ]);
  return table(terminal, ['HOST', 'STATUS', 'ZONE', 'INSTANCES', 'BUSY', 'FAILURES', 'VCPU', 'MEMORY', 'DISK'], rows);
}

function buildTable(terminal: Terminal, clock: Clock, events: readonly InstanceEvent[]): string {
  if (events.length === 0) return terminal.colours.dim('no build has ended since this began');
  const rows = events.map((event) => [
    `${ageOf(clock, event.atMs)} ago`,
    event.state.toUpperCase(),
    event.name,
    event.host || '-',
    event.projectId,
    attemptSummary(event),
  ]);
  return table(terminal, ['WHEN', 'STATE', 'NAME', 'HOST', 'PROJECT', 'ATTEMPTS'], rows);
}

function statusOf({ up, enabled }: HostSummary): string {
  if (!up) return 'down';
  return enabled ? 'up' : 'disabled';
}

function fillOf({ resources }: HostSummary, resourceClass: string): [used: number, capacity: number] {
  const found = resources[resourceClass];
  return found ? [found.used, capacityOf(found.inventory)] : [0, 0];
}

/** The fullest of its classes. */
function useOf(host: HostSummary): number {
  return Math.max(
    ...CLASSES.map((name) => fillOf(host, name)).map(([used, capacity]) => (capacity > 0 ? used / capacity : 0)),
  );
}

const byName = (a: HostSummary, b: HostSummary) => a.host.localeCompare(b.host, 'en', { numeric: true });

const COMPARE: Readonly<Record<Sorting, (a: HostSummary, b: HostSummary) => number>> = {
  name: byName,
  use: (a, b) => useOf(b) - useOf(a) || byName(a, b),
  instances: (a, b) => b.instances - a.instances || byName(a, b),
  failures: (a, b) => b.failures - a.failures || byName(a, b),
};
