import { BerthError } from '#libs/domain/errors';
import { type Segment, segmentsOf } from '#libs/flight-record/record-folder';
import { readSegment } from '#libs/flight-record/segment-file';
import type { NovaDecideEntry, NovaFlightEntry, NovaSegmentEntry } from '../nova-scheduler/flight/entries';
import type { DecideEntry, FlightEntry, SegmentEntry } from '../scheduler/flight/entries';
import { NovaReplay, type NovaReplayed } from './nova/nova-replay';
import { Replay, type Replayed } from './replay';

export type { Segment } from '#libs/flight-record/record-folder';
export { segmentsOf } from '#libs/flight-record/record-folder';

/** The entries of a segment. @throws BerthError `invalid_argument / unreadable_file` */
export function entriesOf({ path }: Pick<Segment, 'path'>): Iterable<FlightEntry> {
  return readSegment(path) as Iterable<FlightEntry>;
}

/** The time up to which a decision is looked for, in milliseconds, or the store's revision. */
export type Moment = { readonly atMs: number } | { readonly revision: number };

/** A decision in a record. */
export interface FoundDecision {
  readonly segment: Segment;
  /** So many decisions of its segment that can be made again come before it. */
  readonly index: number;
  readonly isForNova: boolean;
}

/** A moment that no revision reaches: revisions are microseconds since 1970 and what was committed since. */
const LAST: Moment = { atMs: Number.POSITIVE_INFINITY };

/**
 * The last decision for an instance, or of a request, up to a moment.
 *
 * @param uuid  of the instance or the request
 * @throws BerthError `not_found / no_such_decision`, `invalid_argument / unreadable_folder`
 */
export function findDecision(folder: string, uuid: string, moment: Moment = LAST): FoundDecision {
  for (const segment of segmentsOf(folder).toReversed()) {
    if ('atMs' in moment && segment.startedAtMs > moment.atMs) continue;
    let found: Omit<FoundDecision, 'segment'> | undefined;
    let index = -1;
    let isReady = false;
    for (const entry of entriesOf(segment) as Iterable<FlightEntry | NovaFlightEntry>) {
      if (entry.kind === 'ready' || entry.kind === 'nova_ready') isReady = true;
      if ((entry.kind !== 'decide' && entry.kind !== 'nova_decide') || !isReady) continue;
      index += 1;
      if (isFor(entry, uuid) && isBy(entry, moment)) found = { index, isForNova: entry.kind === 'nova_decide' };
    }
    if (found !== undefined) return { segment, ...found };
  }
  throw new BerthError('not_found', 'no_such_decision', `no decision for ${uuid} is in the record ${folder} by then`);
}

function isFor({ request }: DecideEntry | NovaDecideEntry, uuid: string): boolean {
  return request.requestId === uuid || request.instanceUuids.includes(uuid);
}

function isBy({ attempt, revision }: DecideEntry | NovaDecideEntry, moment: Moment): boolean {
  return 'atMs' in moment ? attempt.nowMs <= moment.atMs : revision <= moment.revision;
}

/** A replay that stands before a decision. */
export interface Positioned {
  readonly replay: Replay;
  readonly entry: DecideEntry;
}

/**
 * Brings a replay to a decision: by its inputs alone or, where `isWhole`, with all decisions before it made again, as the candidates
 * that a scheduler found on hosts with several providers are in the order in which equals are drawn.
 */
export async function positionAt({ segment, index }: FoundDecision, isWhole: boolean): Promise<Positioned> {
  const replay = await Replay.open(entriesOf(segment));
  const hasChanged = new BerthError('not_found', 'no_such_decision', `${segment.path} has changed`);
  if (!replay) throw hasChanged;
  let n = 0;
  for (const entry of replay.decisions()) {
    if (n++ === index) return { replay, entry };
    if (isWhole) replay.again(entry);
  }
  await replay.close();
  throw hasChanged;
}

/** The check of one segment. */
export interface Verified {
  readonly segment: Segment;
  readonly about: SegmentEntry | NovaSegmentEntry | undefined;
  /** Decisions that were made again. */
  readonly count: number;
  readonly different: readonly (Replayed | NovaReplayed)[];
}

/** Differences that are kept of a segment. */
const MOST_DIFFERENT = 20;

/** Makes all decisions of a record again, segment by segment. */
export async function* verifyRecord(folder: string): AsyncGenerator<Verified> {
  for (const segment of segmentsOf(folder)) {
    const entries = () => entriesOf(segment);
    const replay = (await Replay.open(entries())) ?? (await NovaReplay.open(entries() as Iterable<NovaFlightEntry>));
    yield replay ? await verifySegment(segment, replay) : { segment, about: undefined, count: 0, different: [] };
  }
}

async function verifySegment(segment: Segment, replay: Replay | NovaReplay): Promise<Verified> {
  const different: (Replayed | NovaReplayed)[] = [];
  let count = 0;
  for (const made of madeAgain(replay)) {
    const again = await made;
    count += 1;
    if (!again.isSame && different.length < MOST_DIFFERENT) different.push(again);
  }
  await replay.close();
  return { segment, about: replay.segment, count, different };
}

function* madeAgain(replay: Replay | NovaReplay): Generator<Replayed | Promise<NovaReplayed>> {
  if (replay instanceof Replay) for (const entry of replay.decisions()) yield replay.again(entry);
  else for (const entry of replay.decisions()) yield replay.again(entry);
}
