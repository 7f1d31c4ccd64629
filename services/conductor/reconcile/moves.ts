import { type Built, type Instance, type Moving, powerStateToBuild } from '#libs/domain/instance';
import type { MigrationKind } from '#libs/domain/moves/migration';
import type { Observation, RunningAt } from '../observation';
import type { Step } from '../step';
import { isChanging } from './power';
import { isOverdue, none } from './shared-steps';

export function isMoving(record: Instance): record is Moving {
  return (MOVE_STATES as readonly string[]).includes(record.state);
}

const MOVE_STATES: readonly Moving['state'][] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/** A client, or an operator, wants a move, or to end one. */
export type MoveWish = Extract<Observation, { kind: (typeof MOVE_WISHES)[number] }>;

const MOVE_WISHES = ['move_requested', 'move_claimed', 'confirm_requested', 'revert_requested'] as const;

export function isMoveWish(observed: Observation): observed is MoveWish {
  return (MOVE_WISHES as readonly string[]).includes(observed.kind);
}

/** A wish that does not fit the state is none. */
export function moveAsked(record: Instance, wish: MoveWish): Step {
  const { state } = record;
  switch (wish.kind) {
    case 'move_requested':
      if (isTurnOf(record, wish.wanted.kind))
        return { kind: 'record_turn', confirmAfterMs: wish.wanted.confirmAfterMs };
      return isFree(record, wish.wanted.kind) ? { kind: 'record_move', wanted: wish.wanted } : none('not on its host');
    case 'move_claimed': {
      const { wanted, target } = wish;
      return isFree(record, wanted.kind) ? { kind: 'record_move_claimed', wanted, target } : none('not on its host');
    }
    case 'confirm_requested':
      return state === 'verify_resize' ? { kind: 'record_confirming' } : none('not on its host');
    case 'revert_requested': {
      if (state === 'verify_resize') return { kind: 'record_reverting', fault: undefined, asksSource: true };
      const isUnderWay = state === 'resize' || state === 'migrating';
      return isUnderWay ? { kind: 'record_reverting', fault: CANCELLED, asksSource: true } : none('not on its host');
    }
  }
}

/**
 * An affinity group moves as one: what has not left with the others goes back with the first that does. What has left, or is about to be
 * built at its destination, goes on: the copy that lives is kept.
 */
export function groupGoesBack(record: Instance, { host, mateUuid }: GroupGoesBack): Step {
  if (!isYetToLeave(record, host)) return none('not on its host');
  const message = `instance ${mateUuid} of its affinity group goes back to ${host}`;
  return { kind: 'record_reverting', fault: { reason: 'group_goes_back', message } };
}

type GroupGoesBack = Extract<Observation, { kind: 'group_goes_back' }>;

/** True when it is to move from a host, both sides are claimed, and its destination was not ordered. */
export function isYetToLeave({ state, migration }: Instance, host: string): boolean {
  const isOnItsWay = state === 'resize' || state === 'migrating';
  const isClaimed = migration?.phase === 'claimed' || migration?.phase === 'handing_over';
  return isOnItsWay && isClaimed && migration.source.host === host && migration.destination.host !== host;
}

/** A stopped instance is not moved live. A claim that is not known yet can't pass to a migration. */
function isFree(record: Instance, kind: MigrationKind): boolean {
  const isAtRest = record.state === 'active' || (record.state === 'stopped' && kind !== 'live_migrate');
  return isAtRest && record.migration === undefined && record.claimToken !== undefined;
}

/** True for an instance stopped before its move: it is kept stopped, wherever it goes. */
export function isKeptStopped(record: Instance): boolean {
  return powerStateToBuild(record) === 'shutdown';
}

/** True if its move is claimed and waits for its turn. */
export function isTurnOf({ migration }: Instance, kind: MigrationKind): boolean {
  return migration?.phase === 'claimed' && migration.kind === kind;
}

const CANCELLED = { reason: 'move_cancelled', message: 'the move was reverted before it had arrived' };

/**
 * It has moved, and what its source kept is to go; undefined when an observation says nothing of that. A source that is silent
 * finds the order when it is back. While its new host stops or starts it, deadlines are about that; what is said of the source
 * counts all the same, for that host may never answer.
 */
export function confirming(record: Built, observed: Observation, nowMs: number): Step | undefined {
  const { state, migration } = record;
  if (migration === undefined) return undefined;
  const { host, attempt, claimToken } = migration.source;
  // Resized in place, it is one copy, and nothing is left of what it was.
  const isOneCopy = host === migration.destination.host;
  const destroy = isOneCopy
    ? ({ kind: 'finish_move', isConfirmed: true } as const)
    : ({ kind: 'destroy', host, attempt, claimToken, reports: true } as const);
  switch (observed.kind) {
    case 'reported': {
      const isGone = observed.outcome === 'destroyed' && observed.host === host && observed.attempt === attempt;
      return isGone ? { kind: 'finish_move', isConfirmed: true } : undefined;
    }
    case 'missing':
      return observed.host === host && !isOneCopy ? { kind: 'finish_move', isConfirmed: true } : undefined;
    case 'host_gone':
    case 'host_down':
      return { kind: 'finish_move', isConfirmed: false };
    case 'interrupted':
      return isChanging(state) ? undefined : destroy;
    case 'nothing':
      return isOverdue(record, nowMs) && !isChanging(state) ? destroy : undefined;
    case 'audited': {
      // The instance's state follows its host's.
      const isAsItsHost = state === 'active' ? observed.hostIs !== 'down' : observed.hostIs !== 'up';
      return isAsItsHost || state === 'stopped' ? destroy : undefined;
    }
    default:
      return undefined;
  }
}

/** True for the source's copy of a moving instance, running or not. */
export function isAtSource({ migration: { source }, attempts }: Moving, { host, instance }: RunningAt): boolean {
  if (host !== source.host || instance.attempt > source.attempt) return false;
  return !attempts.some((one) => one.number === instance.attempt && one.outcome !== 'active');
}

/** True if its source was ordered to run it again. */
export function isReturnOrdered({ migration, attempts }: Moving): boolean {
  return migration.phase === 'returning' && attempts.at(-1)?.outcome === 'building';
}
