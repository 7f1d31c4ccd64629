import type { Attempt } from '../scheduler/decision/start-decision';
import type { FleetSnapshot } from '../scheduler/fleet/fleet-snapshot';
import type { PendingClaim } from '../scheduler/fleet/pending-claims';
import type { DecideEntry, DecisionOutcome, RecordedDestination } from '../scheduler/flight/entries';
import { outcomeOf } from '../scheduler/flight/outcome-of';
import { entriesOf, segmentsOf } from './records';
import { Replay } from './replay';
import type { Scene } from './scene';

/** A later decision that would have come out otherwise. */
export interface LaterDecision {
  readonly requestId: string;
  readonly decidedAtMs: number;
  readonly recorded: DecisionOutcome;
  readonly instead: DecisionOutcome;
}

/** Later decisions that another choice would have changed, as far as the record or the horizon goes. */
export interface Regret {
  /** Later decisions that were looked at. */
  readonly count: number;
  readonly untilMs: number | undefined;
  /** Refused, and would have found a host. */
  readonly placed: readonly LaterDecision[];
  /** Found a host that the other choice would have filled. */
  readonly refused: readonly LaterDecision[];
}

/** The same instances, as they were placed and as they would have been. */
interface Choice {
  readonly decidedAtMs: number;
  readonly was: DecisionOutcome;
  readonly instead: DecisionOutcome;
}

/**
 * The regret of a choice: goes on through the records of all schedulers and decides anew what was refused, and what went to the hosts
 * that the other choice takes, on the fleet with the instances where that puts them, for as long as they are there. Later decisions do
 * not follow from one another: each is looked at by itself, on the fleet as it came to be.
 */
export async function regretOf(folder: string, choice: Choice, horizon: number): Promise<Regret> {
  const moved = movedOf(choice);
  const regret: Writable<Regret> = { count: 0, untilMs: undefined, placed: [], refused: [] };
  if (moved.length === 0) return regret;
  const taken = new Set(moved.flatMap(({ to }) => (to === undefined ? [] : [to.host])));
  for (const segment of segmentsOf(folder)) {
    if (segment.writtenAtMs < choice.decidedAtMs - CLOCKS_APART_MS || regret.count >= horizon) continue;
    const replay = await Replay.open(entriesOf(segment));
    for (const entry of replay?.decisions() ?? []) {
      if (regret.count >= horizon || replay === undefined) break;
      if (entry.attempt.nowMs <= choice.decidedAtMs) continue;
      regret.count += 1;
      regret.untilMs = Math.max(regret.untilMs ?? 0, entry.attempt.nowMs);
      const later = laterOf(replay, entry, moved, taken);
      if (later?.recorded.kind === 'refused' && later.instead.kind === 'decided') regret.placed.push(later);
      if (later?.recorded.kind === 'decided' && later.instead.kind === 'refused') regret.refused.push(later);
    }
    await replay?.close();
  }
  return regret;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] };

/** The clock of the machine that wrote a file, and that of the store. */
const CLOCKS_APART_MS = 3_600_000;

interface Moved {
  readonly instanceUuid: string;
  readonly from: RecordedDestination | undefined;
  readonly to: RecordedDestination | undefined;
}

function movedOf({ was, instead }: Choice): readonly Moved[] {
  const byUuid = (outcome: DecisionOutcome) =>
    new Map(outcome.kind === 'decided' ? outcome.destinations.map((one) => [one.instanceUuid, one]) : []);
  const before = byUuid(was);
  const after = byUuid(instead);
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((instanceUuid) => ({ instanceUuid, from: before.get(instanceUuid), to: after.get(instanceUuid) }))
    .filter(({ from, to }) => from?.host !== to?.host);
}

function laterOf(
  replay: Replay,
  entry: DecideEntry,
  moved: readonly Moved[],
  taken: ReadonlySet<string>,
): LaterDecision | undefined {
  const { outcome: recorded, attempt } = entry;
  const { scene } = replay;
  const isTaken = recorded.kind === 'decided' && recorded.destinations.some(({ host }) => taken.has(host));
  if (recorded.kind === 'decided' && !isTaken) return undefined;
  const asIf: Attempt['asIf'] = (present) => moved.reduce((fleet, one) => withMoved(fleet, one, scene), present);
  const instead = outcomeOf(scene.decide(replay.requestOf(entry), { ...attempt, asIf }));
  return { requestId: entry.request.requestId, decidedAtMs: attempt.nowMs, recorded, instead };
}

/** The fleet with an instance where it would have been, as long as it is where it was put. */
function withMoved(present: FleetSnapshot, { instanceUuid, from, to }: Moved, { fleet }: Scene): FleetSnapshot {
  if (from !== undefined && fleet.indexOfConsumer(instanceUuid) !== fleet.indexOfHost(from.host)) return present;
  const without = from === undefined ? present : change(present, 'without', from, fleet);
  return to === undefined ? without : change(without, 'assume', to, fleet);
}

function change(
  snapshot: FleetSnapshot,
  how: 'without' | 'assume',
  { instanceUuid: consumerUuid, host, allocations }: RecordedDestination,
  fleet: Scene['fleet'],
): FleetSnapshot {
  const hostIndex = fleet.indexOfHost(host);
  const state = snapshot.at(hostIndex);
  if (hostIndex === undefined || !state) return snapshot;
  const claim: PendingClaim = { consumerUuid, hostIndex, rootUuid: state.root.uuid, allocations, group: undefined };
  return snapshot[how](claim);
}
