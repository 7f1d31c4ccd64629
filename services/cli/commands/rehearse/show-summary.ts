import { counted } from '#libs/runtime/counted';
import { type Durations, type FleetUse, METRICS, SHOWN, type Summary } from '../../../rehearsal/main';
import { formatNumber } from '../../views/format';
import { bar, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** Rows of the timeline. */
const STEPS = 8;
/** Instances that are named. */
const MOST_REFUSED = 20;

/** An operation, and the fleet on which it was rehearsed. */
export interface Rehearsed {
  readonly title: string;
  readonly ageMs: number;
  readonly hosts: number;
  readonly instances: number;
  readonly durations: Durations;
  readonly realSeconds: number;
}

/** Prints what came of it, for people. */
export function showSummary(terminal: Terminal, rehearsed: Rehearsed, summary: Summary): void {
  const { colours } = terminal;
  terminal.print(colours.bold(`${rehearsed.title}, rehearsed ${counted(summary.rehearsals, 'time')}`));
  terminal.print(
    `on ${counted(rehearsed.hosts, 'host')} with ${counted(rehearsed.instances, 'instance')}, as they were ${ageOf(rehearsed.ageMs)} ago; nothing of the fleet was changed`,
  );
  terminal.print(durationsSaid(rehearsed.durations));
  const rows = METRICS.filter((name) => ALWAYS.includes(name) || summary.metrics[name].most > 0).map((name) => {
    const { least, median, p95, most } = summary.metrics[name];
    return [name, least, median, p95, most];
  });
  terminal.print(`\n${table(terminal, ['', 'LEAST', 'MEDIAN', 'P95', 'MOST'], rows)}`);
  showTimeline(terminal, summary.timeline);
  showUse(terminal, summary.before, summary.after);
  showRefused(terminal, summary);
  for (const { what, seeds } of summary.broken) {
    terminal.print(colours.red(`\nbroken with seed ${seeds.slice(0, STEPS).join(', ')}: ${what}`));
  }
}

const ALWAYS: readonly string[] = ['seconds', 'moved', 'refused', 'broken'];

function ageOf(ageMs: number): string {
  return ageMs < 120_000 ? `${Math.round(ageMs / 1_000)} s` : `${Math.round(ageMs / 60_000)} min`;
}

function durationsSaid({ build, copy }: Durations): string {
  const of = build.measuredCount > 0 ? `the median of ${counted(build.measuredCount, 'build')} on record` : 'as given';
  const said = `a build takes ${formatNumber(build.medianMs / 1_000)} s (${of})`;
  return copy.medianMs === 0
    ? `${said}, a live migration as long`
    : `${said}, a live migration ${formatNumber(copy.medianMs / 1_000)} s before`;
}

/** Progress of the median rehearsal over time. */
function showTimeline(terminal: Terminal, timeline: Summary['timeline']): void {
  const [lastSeconds = 0, all = 0] = timeline.at(-1) ?? [];
  if (all === 0) return;
  const rows = Array.from({ length: STEPS }, (_, n) => {
    const untilSeconds = (lastSeconds * (n + 1)) / STEPS;
    const arrived = timeline.findLast(([seconds]) => seconds <= untilSeconds + 1e-9)?.[1] ?? 0;
    return [`${formatNumber(untilSeconds)} s`, bar(terminal, arrived, all, 24)];
  });
  terminal.print(`\n${table(terminal, ['AFTER', 'ARRIVED, IN THE MEDIAN REHEARSAL'], rows)}`);
}

function showUse(terminal: Terminal, before: FleetUse, after: FleetUse): void {
  const rows = SHOWN.filter((name) => (before.capacity[name] ?? 0) > 0).map((name) => [
    name,
    { used: before.used[name] ?? 0, capacity: before.capacity[name] ?? 0 },
    { used: after.used[name] ?? 0, capacity: after.capacity[name] ?? 0 },
    (after.capacity[name] ?? 0) - (after.used[name] ?? 0),
    after.largestFree[name] ?? 0,
  ]);
  const head = ['IN SERVICE', 'USED BEFORE', 'USED AFTER', 'FREE AFTER', 'AT MOST ON ONE HOST'];
  terminal.print(`\n${table(terminal, head, rows)}`);
  terminal.print(`${counted(before.hosts, 'host')} in service before, ${formatNumber(after.hosts)} after`);
  const full = after.quotas.filter(({ used, limit }) => limit > 0 && used / limit >= NEARLY);
  if (full.length === 0) return;
  const quotas = full.map(({ projectId, resourceClass, used, limit }) => [
    projectId || '(default)',
    resourceClass,
    used,
    limit,
  ]);
  terminal.print(`\n${table(terminal, ['PROJECT', 'NEAR ITS LIMIT ON', 'USED', 'LIMIT'], quotas)}`);
}

const NEARLY = 0.9;

function showRefused(terminal: Terminal, { refused, rehearsals }: Summary): void {
  if (refused.length === 0) return;
  const rows = refused.slice(0, MOST_REFUSED).map(({ uuid, name, resources, times, why }) => {
    const asks = Object.entries(resources).map(([resourceClass, amount]) => `${resourceClass}=${amount}`);
    return [{ uuid }, name, asks.join(' '), `${times} of ${rehearsals}`, why];
  });
  terminal.print(`\n${table(terminal, ['REFUSED', 'NAME', 'HOLDS', 'REHEARSALS', 'WHY'], rows)}`);
  if (refused.length > MOST_REFUSED) terminal.print(`and ${refused.length - MOST_REFUSED} more: --json has all`);
}
