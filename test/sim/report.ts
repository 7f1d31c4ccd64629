import { diagram } from '#libs/simulation/diagram';
import type { Entry } from '#libs/simulation/history';
import { shrink } from '#libs/simulation/shrink';
import { START_MS } from './world/processes';
import type { RunOptions, RunResult, Violation } from './world/run';
import { runSeed, worldOf } from './world/worlds';

/** A run that broke an invariant, shrunk. */
export interface Failure extends RunOptions {
  readonly violation: Violation;
  readonly result: RunResult;
}

/** Removes every action without which a run fails in the same way: with the same message, about any instance. */
export async function shrinkFailure(options: RunOptions, broken: Violation): Promise<Failure> {
  const numbers = (await planNumbers(options)).filter((number) => options.kept?.includes(number) ?? true);
  const kept = await shrink(numbers, async (part) => {
    const { violation } = await runSeed({ ...options, kept: part });
    return violation !== undefined && isAlike(violation, broken);
  });
  const result = await runSeed({ ...options, kept });
  return { ...options, kept, result, violation: result.violation as Violation };
}

function isAlike(a: Violation, b: Violation): boolean {
  const [sentence, other] = [a, b].map(({ message }) => message.replaceAll(EACH_UUID, ''));
  return a.invariant === b.invariant && sentence === other;
}

async function planNumbers(options: RunOptions): Promise<number[]> {
  const { plan } = await runSeed(options);
  return plan.map(({ number }) => number);
}

/** A failure in words: the violation, the messages before it, and the command that repeats it. */
export function explainFailure(failure: Failure, mutant?: string): string {
  const { world, seed, actionCount, kept, focus, violation, result } = failure;
  const named = nameInstances(result.history.entries);
  const uuids = [...named.keys(), ...nodesIn(violation.message)].filter((one) => violation.message.includes(one));
  const entries = result.history.entries.filter((entry) => isTold(entry, uuids)).map((entry) => rename(entry, named));
  const args = [
    world && world !== 'fleet' ? `--world ${world}` : '',
    `--seed ${seed}`,
    `--steps ${actionCount}`,
    kept ? `--keep ${kept.join(',')}` : '',
  ];
  if (mutant !== undefined) args.push(`--mutant ${mutant}`);
  else if (focus !== undefined) args.push(`--focus '${focus.join(',')}'`);
  return [
    `seed ${seed} breaks "${violation.invariant}": ${renameText(violation.message, named)}`,
    ...result.plan.map(({ number, afterMs, kind }) => `  ${(afterMs / 1_000).toFixed(3)} s  ${kind} (${number})`),
    '',
    diagram(shortened(entries), worldOf(world).parties.map(laneOf), START_MS),
    '',
    `again: npm run sim -- ${args.filter((arg) => arg !== '').join(' ')}`,
  ].join('\n');
}

/** The nodes of a ring that a message names. */
function nodesIn(text: string): string[] {
  return text.match(/\bnode-\d+\b/g) ?? [];
}

/** True for entries about these instances that are not routine, such as reports, reads and confirms. */
function isTold({ from, to, what }: Entry, uuids: readonly string[]): boolean {
  if (from === to) {
    const isSaying = what.startsWith('says:');
    const isOfMachine = UUID.test(what) || NODE.test(from);
    if (uuids.includes(from)) return true;
    return isSaying ? what.includes('repaired') : !isOfMachine || uuids.some((uuid) => what.includes(uuid));
  }
  if (ROUTINE.test(what)) return false;
  return uuids.some((uuid) => what.includes(uuid));
}

const ROUTINE =
  /^(get|consumers|hosts|reportHost|call UpdateResourceStats|answer|ack|takeDue|event)|: (done|committed)$/;

const MOST_LINES = 200;

function shortened(entries: readonly Entry[]): readonly Entry[] {
  return entries.slice(-MOST_LINES);
}

/** Short names for uuids, by first appearance: `i1`, `i2`, ... */
function nameInstances(entries: readonly Entry[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { what } of entries) {
    for (const [uuid] of what.matchAll(EACH_UUID)) if (!names.has(uuid)) names.set(uuid, `i${names.size + 1}`);
  }
  return names;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
/** A node that acts by itself. */
const NODE = /^node-\d+$/;
const EACH_UUID = new RegExp(UUID, 'g');

function rename(entry: Entry, names: ReadonlyMap<string, string>): Entry {
  const { atMs, from, to, what } = entry;
  return { atMs, from: laneOf(from), to: laneOf(to), what: renameText(what, names) };
}

/** A name short enough for a lane. */
function laneOf(party: string): string {
  return party.replace('conductor', 'cond').replace('scheduler', 'sched');
}

function renameText(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(EACH_UUID, (uuid) => names.get(uuid) ?? uuid);
}
