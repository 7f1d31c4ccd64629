import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { catchUp } from '../decision/claim';
import { type FollowDeps, lookAtGuarantees } from './follow-guarantees';

/** Dependencies of turns to admit. */
export interface TurnDeps extends FollowDeps {
  readonly placement: PlacementStore;
  readonly mirror: Pick<Mirror, 'admissionTurn' | 'apply' | 'revision' | 'waitFor'>;
  readonly random: Random;
  /** Time for which nobody takes the turn away; up to a hundred times as long where it was over before it could be used. */
  readonly holdMs: number;
}

/**
 * Takes the turn to admit, unless this scheduler has it, and then knows all that was admitted before.
 *
 * @returns its revision, for the claim to name; undefined without guarantees
 * @throws BerthError `unavailable` when the store is away, `deadline_exceeded / caller_left`
 */
export type TakeTurn = (caller: { readonly isAborted: boolean }) => Promise<number | undefined>;

/**
 * Turns of several schedulers to admit under guarantees.
 *
 * Two witnesses that each admit one more may together admit too much, and no row of the store that both write would show it. So
 * only one scheduler admits at a time: it takes a row, waits until its mirror shows what was committed before that, and reads what those
 * instances need; each of its claims is refused once the row is another's (a fencing token, as of a lease). A scheduler that is alone
 * takes the turn once. Of several each has it for a while, so that taking it costs little beside the claims that it makes in it.
 */
export function turnsToAdmit(deps: TurnDeps): TakeTurn {
  const { guarantees, mirror, clock, random } = deps;
  let by = '';
  let holdMs = deps.holdMs;
  let taking: Promise<void> | undefined;
  return async (caller) => {
    for (let hasRead = false; guarantees.isActive; hasRead = true) {
      if (caller.isAborted) throw new BerthError('deadline_exceeded', 'caller_left', 'the caller no longer waits');
      const turn = heldTurn();
      if (turn !== undefined && (hasRead || !hasUnread())) {
        holdMs = deps.holdMs;
        return turn;
      }
      by ||= random.uuid();
      taking ??= takeAndRead().finally(() => {
        taking = undefined;
      });
      await taking;
    }
    return undefined;
  };

  /** The mirror shows all that was committed before it, not only the turn itself, which it is told ahead of the stream. */
  function heldTurn(): number | undefined {
    const turn = mirror.admissionTurn();
    return turn?.by === by && turn.revision <= mirror.revision ? turn.revision : undefined;
  }

  function hasUnread(): boolean {
    guarantees.bring(clock.now());
    return guarantees.dueUnread(clock.now()).length > 0;
  }

  async function takeAndRead(): Promise<void> {
    if (heldTurn() === undefined && (await take({ by, holdMs }, deps)) && heldTurn() === undefined) {
      // The store is slower than turns are long.
      holdMs = Math.min(2 * holdMs, MOST_HOLDS * deps.holdMs);
    }
    if (heldTurn() === undefined || !hasUnread()) return;
    await lookAtGuarantees(deps).catch((thrown: unknown) => {
      // Else their places are for what they hold until they are read; the look of each second says why they are not.
      if (BerthError.from(thrown).code === 'unavailable') throw thrown;
    });
  }
}

const MOST_HOLDS = 100;

/** Waits until nobody holds the turn, and takes it; false when another was quicker. */
async function take(
  wanted: { readonly by: string; readonly holdMs: number },
  { placement, mirror, clock }: TurnDeps,
): Promise<boolean> {
  const turn = mirror.admissionTurn();
  const leftMs = turn && turn.by !== wanted.by ? turn.takenAtMs + turn.holdMs - clock.now() : 0;
  if (turn && leftMs > 0) await sleep(clock, Math.min(leftMs, turn.holdMs));
  const result = await placement.commit({ kind: 'take_admission_turn', atMs: clock.now(), ...wanted });
  if (result.kind === 'committed') mirror.apply(result.change);
  await catchUp({ placement, mirror }, {});
  return result.kind === 'committed';
}
