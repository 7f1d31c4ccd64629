import { writeFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { type FleetSnapshot, findHosts, holds, type Operation, type Outcome, summarize } from '../../../rehearsal/main';
import type { Context } from '../../context';
import { drawTimelines } from './draw-timeline';
import { prepareRehearsals } from './prepare';
import { showSummary } from './show-summary';

/** Exit codes of rehearsals besides those of every command. */
export const EXITS = [[EXIT.failed, 'a condition of --fail-if came about, or an invariant is broken']] as const;

interface HostFlags {
  readonly in: readonly (readonly [string, string])[];
  readonly zone?: string | undefined;
}

/** Hosts that the flags of `hostsCommand` name. @throws BerthError `not_found / no_such_host` */
export function hostsOf(
  fleet: FleetSnapshot,
  names: readonly string[],
  { in: metadata, zone }: HostFlags,
): readonly string[] {
  const ofZone = zone === undefined ? [] : [[ZONE_KEY, zone] as const];
  return findHosts(fleet, { names, metadata: [...metadata, ...ofZone] });
}

/** A few hosts by name, more by number. */
export function named(hosts: readonly string[]): string {
  return hosts.length > 3 ? counted(hosts.length, 'host') : hosts.join(', ');
}

interface Asked {
  readonly operation: Operation;
  readonly title: string;
}

/** Rehearses an operation as the flags say, and shows its outcome. */
export async function run(
  context: Context,
  command: CommandUnknownOpts,
  ask: (fleet: FleetSnapshot) => Asked,
): Promise<void> {
  const { terminal } = context;
  const prepared = await prepareRehearsals(context, command);
  const { snapshot, ageMs, durations, flags } = prepared;
  const { json, svg, failIf } = flags;
  const { operation, title } = ask(snapshot);
  const rehearsedAll = await prepared.rehearse(operation);
  if (rehearsedAll === undefined) return context.exit(EXIT.interrupted);
  const { outcomes, realSeconds } = rehearsedAll;
  const summary = summarize(outcomes);
  const hosts = snapshot.placement.tables['host']?.length ?? 0;
  const rehearsed = { title, ageMs, hosts, instances: snapshot.instances.length, durations, realSeconds };
  const cameAbout = failIf.filter((condition) => holds(condition, summary));
  if (json) {
    const texts = cameAbout.map(({ text }) => text);
    terminal.json({ ...rehearsed, operation, ...summary, cameAbout: texts, timelines: timelinesOf(outcomes) });
  } else showSummary(terminal, rehearsed, summary);
  if (svg !== undefined) await writeFile(svg, drawTimelines(title, outcomes));
  if (!json) for (const { text } of cameAbout) terminal.print(`\ncame about: ${text}`);
  if (cameAbout.length > 0 || summary.broken.length > 0) context.exit(EXIT.failed);
}

/** Arrivals in seconds, of each rehearsal. */
function timelinesOf(outcomes: readonly Outcome[]) {
  return outcomes.map(({ seed, arrivalsMs, refused, broken }) => {
    const arrivals = arrivalsMs.map((atMs) => atMs / 1_000);
    return { seed, refused: refused.length, broken: broken.length, arrivals };
  });
}
