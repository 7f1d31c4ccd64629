import { isAfter } from '#libs/domain/host-position';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
import type { Observation, RunningAt } from './observation';

/*
 * The evidence that an observation gives about a record.
 */

/** True if the observation is older than its host's last word that the instance runs there. */
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

/** True for another project's instance, which a store that lost writes forgot before its uuid was given again. */
export function isOfAnother({ projectId }: Instance, { instance }: RunningAt): boolean {
  return instance.projectId !== '' && instance.projectId !== projectId;
}

/** True if the report is about the record's last attempt. */
export function isOfPresentAttempt(record: Instance, { host, attempt }: Build): boolean {
  return record.host === host && attemptNumber(record) === attempt;
}

/** Likewise, by the claim that it was ordered with: an earlier instance of the same uuid had attempts of the same number. */
export function isOfPresentBuild(record: Instance, build: Build): boolean {
  const isClaim = build.claimToken === 0 || build.claimToken === record.claimToken;
  return isClaim && isOfPresentAttempt(record, build);
}

/**
 * True if the report is about the instance as the record has it on its host. Attempt 0 is unknown to the agent. An instance that
 * was resized in place, or came back from a move, was built by an earlier attempt: a host with an older disk names that one.
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
 * True if the record's own host has the instance by a later attempt, and no earlier claim, than the record: moves that the store
 * forgot, and which ended where they began. (One that is reverted in place keeps its claim.) Nothing else orders attempts.
 */
export function isLaterWhereItBelongs(
  record: Instance,
  { host, instance: { attempt, claimToken } }: RunningAt,
): boolean {
  if (host !== record.host || record.claimToken === undefined || record.attempts.length === 0) return false;
  return attempt > attemptNumber(record) && claimToken >= record.claimToken;
}

/** True if an attempt on a host was given up on record: a late result of it must go. */
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
