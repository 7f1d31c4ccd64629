import { isAfter } from '#libs/domain/host-position';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
import type { Observation, RunningAt } from './observation';

/*
 * What an observation proves of a record.
 */

/** Whether it was seen before the record's host said last that it runs there. */
export function isOlder({ activeAt, host }: Instance, observed: Observation): boolean {
  switch (observed.kind) {
    case 'missing':
    case 'running':
      return observed.host === host && !isAfter(observed.at, activeAt);
    case 'reported': {
      const ends = observed.outcome === 'lost' || observed.outcome === 'destroyed';
      return ends && observed.host === host && !isAfter(observed.at, activeAt);
    }
    default:
      return false;
  }
}

/** By what an instance was built, as its host says. */
export interface Build {
  readonly host: string;
  readonly attempt: number;
  readonly claimToken: number;
}

/** Whether it is about the attempt that the record made last. */
export function isOfPresentAttempt(record: Instance, { host, attempt }: Build): boolean {
  return record.host === host && attemptNumber(record) === attempt;
}

/** Likewise, by the claim that it was ordered with: an earlier instance of the same uuid had attempts of the same number. */
export function isOfPresentBuild(record: Instance, build: Build): boolean {
  const isClaim = build.claimToken === 0 || build.claimToken === record.claimToken;
  return isClaim && isOfPresentAttempt(record, build);
}

/**
 * Whether it is about what the record has on its host. 0 is an attempt that the agent does not know. What was resized in place, or
 * came back from a move, is what an earlier attempt built there: a host whose disk is an older one knows it by that.
 */
export function isOfPresentPlace(record: Instance, { host, attempt }: Pick<Build, 'host' | 'attempt'>): boolean {
  if (host !== record.host) return false;
  if (attempt === 0 || record.attempts.length === 0 || attempt === attemptNumber(record)) return true;
  return record.attempts.some((one) => one.host === host && one.number === attempt && one.outcome === 'active');
}

/** An adopted record does not know its attempt; agents of an older version do not say it. */
export function isWhereItBelongs(record: Instance, { host, instance: { attempt } }: RunningAt): boolean {
  return isOfPresentPlace(record, { host, attempt });
}

/**
 * Whether the record's own host has it by a later attempt and claim than the record knows: of moves that the store has forgotten,
 * which ended where they began. Nobody else orders attempts.
 */
export function isLaterWhereItBelongs(
  record: Instance,
  { host, instance: { attempt, claimToken } }: RunningAt,
): boolean {
  if (host !== record.host || record.claimToken === undefined || record.attempts.length === 0) return false;
  return attempt > attemptNumber(record) && claimToken > record.claimToken;
}

/** Whether an attempt on a host ended without its success, for the record: what it built all the same is to go. */
export function isGivenUp({ attempts }: Instance, host: string, attempt: number): boolean {
  const one = attempts.find(({ number, host: tried }) => number === attempt && tried === host);
  return one !== undefined && GIVEN_UP.includes(one.outcome);
}

const GIVEN_UP: readonly Attempt['outcome'][] = [
  'failed',
  'refused',
  'timed_out',
  'evacuated',
  'rolled_back',
  'preempted',
  'shelved',
  'moved',
  'reverted',
];
