import { type Guarantee, lossText } from '#libs/domain/grouping/guarantee';
import { seededRandom, seedOf } from '#libs/domain/random';
import { pick } from '../actions/common';
import { type Held, type Lost, Oracle } from './oracle';
import type { RacksRun } from './racks-checker';
import { SCHEDULERS } from './racks-world';

const ENDS: readonly string[] = ['active', 'error', 'deleted'];
const WAITING: readonly string[] = ['unknown', 'rebuilding'];
const BROKEN = 'berth_scheduler_guarantee_broken_losses';
const UNREAD = 'berth_scheduler_guarantee_unread';
const MOVES = 'berth_scheduler_guarantee_requests_total';

/** A loss that has really happened, and how many instances had moved before it, by outcome. */
export interface RealLoss {
  readonly text: string;
  readonly lost: Lost;
  readonly covered: readonly Held[];
  readonly before: ReadonlyMap<string, number>;
}

/** Without faults and requests each scheduler shows of each guarantee exactly the losses that the fleet would not stand. */
export async function checkAtRest({ fleet, checker }: RacksRun): Promise<void> {
  for (const { uuid, state, host } of checker.records.values()) {
    // One that nothing has a place for is tried again and again.
    const isLost = WAITING.includes(state) && fleet.isGone(`agent-${host}`);
    if (!ENDS.includes(state) && !isLost) checker.fail('every request ends', `${uuid} is ${state} at rest`);
  }
  const { oracle, guarantees } = await checker.look();
  for (const name of SCHEDULERS) {
    const count = (await fleet.measured(name, UNREAD)).get('') ?? 0;
    if (count > 0) checker.fail('a guarantee shows what holds', `${name} has not read ${count} instances at rest`);
    const broken = await fleet.measured(name, BROKEN);
    for (const guarantee of guarantees) {
      const wrong = Oracle.lossesOf(guarantee).filter((lost) => !oracle.stands(lost, guarantee));
      const shown = broken.get(guarantee.name);
      if (shown === wrong.length) continue;
      const losses = wrong.map((lost) => lost.join(' and ')).join(', ') || 'none';
      checker.fail(
        'a guarantee shows what holds',
        `${name} shows ${shown} broken losses of ${guarantee.name} (lose ${lossText(guarantee)}, from ${guarantee.minPriority}); there are ${wrong.length}: ${losses}`,
      );
    }
  }
}

/** Losses that the fleet stands, of guarantees that refuse; to be compared after requests. */
export async function standingLosses({ checker }: RacksRun): Promise<readonly StandingLoss[]> {
  const { oracle, guarantees } = await checker.look();
  const refusing = guarantees.filter(({ policy }) => policy === 'refuse');
  return refusing.flatMap((guarantee) =>
    Oracle.lossesOf(guarantee)
      .filter((lost) => oracle.stands(lost, guarantee))
      .map((lost) => ({ guarantee, lost })),
  );
}

export interface StandingLoss {
  readonly guarantee: Guarantee;
  readonly lost: Lost;
}

/** After requests alone the fleet stands what it stood before. */
export async function checkStillStands({ checker }: RacksRun, before: readonly StandingLoss[]): Promise<void> {
  const { oracle, guarantees } = await checker.look();
  for (const { guarantee, lost } of before) {
    const isSame = guarantees.some((one) => one.name === guarantee.name && one.updatedAtMs === guarantee.updatedAtMs);
    if (!isSame || oracle.stands(lost, guarantee)) continue;
    checker.fail(
      'a guarantee stands what it admits',
      `${guarantee.name} stood the loss of ${lost.join(' and ')}, and does not after requests`,
    );
  }
}

/** A guaranteed loss that the fleet would stand happens: its agents end for good. */
export async function loseOne({ fleet, checker }: RacksRun, seed: number): Promise<RealLoss | undefined> {
  const random = seededRandom(seedOf(`${seed} loss`));
  const { oracle, guarantees } = await checker.look();
  const standing = guarantees.flatMap((guarantee) =>
    Oracle.lossesOf(guarantee)
      .map((lost) => ({ guarantee, lost, covered: oracle.takenBy(lost, guarantee) }))
      .filter(({ lost, covered }) => covered.length > 0 && oracle.stands(lost, guarantee)),
  );
  // Hosts lost together are noticed one after the other: what another guarantee has on the first may leave it before.
  const whole = standing.filter(({ lost, covered }) => {
    const uuids = new Set(covered.map(({ uuid }) => uuid));
    const parts = guarantees.flatMap((other) =>
      Oracle.lossesOf(other).flatMap((part) => (isPart(part, lost) ? oracle.takenBy(part, other) : [])),
    );
    return parts.every(({ uuid }) => uuids.has(uuid));
  });
  if (whole.length === 0) return undefined;
  const { guarantee, lost, covered } = pick(random, whole);
  const text = `${lost.join(' and ')} (${guarantee.name}, lose ${lossText(guarantee)})`;
  fleet.note('world', `loses ${text}`);
  for (const { uuid } of covered) checker.lost.add(uuid);
  const before = await movesOf(fleet);
  for (const host of lost) fleet.remove(`agent-${host}`);
  return { text, lost, covered, before };
}

function isPart(part: Lost, lost: Lost): boolean {
  return part.length < lost.length && part.every((host) => lost.includes(host));
}

/** Each guaranteed instance runs again elsewhere, where a witness had it. */
export async function checkRunAgain({ fleet, checker }: RacksRun, loss: RealLoss): Promise<void> {
  const { text, lost, covered, before } = loss;
  for (const { uuid } of covered) {
    const { state, host = 'nowhere', fault } = checker.records.get(uuid) ?? {};
    const isThere = fleet.machines.get(host)?.running.has(uuid) === true;
    if (state === 'active' && !lost.includes(host) && isThere) continue;
    checker.fail(
      'what is guaranteed runs again',
      `after the loss of ${text}, ${uuid} is ${state} on ${host}: ${fault?.message ?? 'no fault'}`,
    );
  }
  const after = await movesOf(fleet);
  const byPlan = (after.get('moved_by_plan') ?? 0) - (before.get('moved_by_plan') ?? 0);
  const otherwise = (after.get('moved_otherwise') ?? 0) - (before.get('moved_otherwise') ?? 0);
  if (byPlan >= covered.length) return;
  checker.fail(
    'what moves follows the witness',
    `of ${covered.length} that ${text} took, ${byPlan} moved by the plan and ${otherwise} otherwise`,
  );
}

async function movesOf(fleet: RacksRun['fleet']): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const name of SCHEDULERS) {
    for (const [outcome, count] of await fleet.measured(name, MOVES)) {
      sums.set(outcome, (sums.get(outcome) ?? 0) + count);
    }
  }
  return sums;
}
