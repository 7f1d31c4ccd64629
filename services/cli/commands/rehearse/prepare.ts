import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { readConfigs } from '#libs/runtime/config';
import { agentOptions } from '../../../compute-agent/options';
import { conductorOptions } from '../../../conductor/options';
import {
  type Durations,
  durationsOf,
  type FleetSnapshot,
  type Operation,
  type Outcome,
  rehearse,
  type Traffic,
} from '../../../rehearsal/main';
import { trafficOf } from '../../../replay/main';
import { schedulerOptions } from '../../../scheduler/options';
import type { Context } from '../../context';
import { unknownSettings, withFlags } from '../../settings';
import { withProgress } from '../../views/progress';
import { recordFolderOf } from '../record/record-flags';
import { readFleet } from './read-fleet';
import { type RehearsalFlags, STORE_SETTINGS } from './rehearsal-flags';

/** A fleet that was read, and how operations are rehearsed on it. */
export interface PreparedRehearsals {
  readonly snapshot: FleetSnapshot;
  readonly ageMs: number;
  readonly durations: Durations;
  readonly flags: RehearsalFlags;
  /** Rehearses an operation with each seed, one of several if said; undefined when Ctrl-C came first. */
  rehearse(operation: Operation, part?: Part): Promise<Rehearsals | undefined>;
}

/** The place of an operation among several. */
interface Part {
  readonly index: number;
  readonly count: number;
}

export interface Rehearsals {
  readonly outcomes: readonly Outcome[];
  readonly realSeconds: number;
}

/** Reads the fleet and the flags of a command with `addRehearsalFlags`. */
export async function prepareRehearsals(context: Context, command: CommandUnknownOpts): Promise<PreparedRehearsals> {
  const { terminal, clock, interrupted } = context;
  const flags = command.opts() as unknown as RehearsalFlags;
  const { seeds: count, kill: kills, limit, jobs } = flags;
  const env = { ...withFlags(STORE_SETTINGS, command, context.env), ...Object.fromEntries(flags.set) };
  const { placement } = readConfigs(SERVICE_SETTINGS, env, unknownSettings(env));
  const snapshot = await readFleet(context, flags.from, placement);
  const given = { buildMs: inMs(flags.buildTime), copyMs: inMs(flags.copyTime) };
  const common = { kills, limitMs: limit * 1_000, traffic: readTraffic(context, command, flags) };
  const seeds = Array.from({ length: count }, (_, n) => n + 1);
  return {
    snapshot,
    ageMs: clock.now() - snapshot.takenAtMs,
    durations: durationsOf(snapshot.instances, given),
    flags,
    async rehearse(operation, part = { index: 0, count: 1 }) {
      const work = { snapshot, fork: { settings: env, ...given }, options: { operation, ...common } };
      const startedMs = clock.elapsed();
      const outcomes: Outcome[] = [];
      await withProgress(terminal, 'rehearsing', async (show) => {
        for await (const outcome of rehearse(work, seeds, jobs)) {
          outcomes.push(outcome);
          show(outcomes.length, count);
          tellParent(part.index * count + outcomes.length, part.count * count);
          if (interrupted.aborted) break;
        }
      });
      if (interrupted.aborted) return undefined;
      return { outcomes, realSeconds: (clock.elapsed() - startedMs) / 1_000 };
    },
  };
}

/** Tells a parent with an IPC channel (a console) how far it is. */
function tellParent(done: number, all: number): void {
  if (process.connected) process.send?.({ done, all });
}

/** So much of a record as `--traffic` says, up to its end. */
function readTraffic(context: Context, command: CommandUnknownOpts, { traffic: seconds }: RehearsalFlags): Traffic {
  return seconds === 0 ? [] : trafficOf(recordFolderOf(context, command), seconds * 1_000, context.random);
}

const SERVICE_SETTINGS = {
  ...STORE_SETTINGS.tables,
  scheduler: schedulerOptions,
  conductor: conductorOptions,
  agent: agentOptions,
} as const;

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}
