import { BUILT_STATES, type Instance, isAttemptOpen } from '#libs/domain/instance';
import { isEnded } from '#libs/domain/queueing/gang';
import type { Fault, Observation } from '../observation';
import type { Step } from '../step';
import { none, recordError } from './shared-steps';

/*
 * Gangs: of the instances of one request so many become ACTIVE, or none runs.
 */

/** Members that are not at their end, nor on the way there. */
export function toBeUndone(members: readonly Instance[]): Instance[] {
  return members.filter((member) => !isEnded(member));
}

/**
 * True if its failure is not settled with its gang: the other members' records may not show it yet. Its deadline brings a
 * conductor back here when the one that recorded the failure died.
 */
export function owesGang({ state, gang, dueAtMs }: Instance): boolean {
  return state === 'error' && gang !== undefined && dueAtMs !== undefined;
}

/** On a host that is dead: it is lost to its gang. */
export function givenUp(record: Instance, { host, fault }: Extract<Observation, { kind: 'given_up' }>): Step {
  const isThere = BUILT_STATES.includes(record.state) && record.host === host && record.migration === undefined;
  return isThere ? { kind: 'record_given_up', fault } : none('not on its host');
}

/** Not at rest on its host, where it may run all the same. */
const UPROOTED: readonly Instance['state'][] = [
  'rebuilding',
  'preempting',
  'shelving',
  'resize',
  'verify_resize',
  'revert_resize',
  'migrating',
];

const ON_NO_HOST: readonly Instance['state'][] = ['shelved_offloaded', 'unshelving'];

/** Its gang has failed: what was built of it is destroyed before its claim is released. */
export function gangFailed(record: Instance, fault: Fault): Step {
  const { state } = record;
  if (isEnded(record)) return none('at rest');
  const mayRun = BUILT_STATES.includes(state) || UPROOTED.includes(state) || isAttemptOpen(record);
  if (mayRun) return { kind: 'record_undoing', fault };
  // The claim of an instance on no host was released with it; a newer claim is searched for.
  return recordError(fault, ON_NO_HOST.includes(state) ? undefined : record.claimToken, []);
}
