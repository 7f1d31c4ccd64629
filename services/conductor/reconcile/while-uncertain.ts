import type { Observation } from '../observation';
import type { Step } from '../step';

/**
 * What is done all the same while a record may be older than what was done for its instance (`losses/hearing.ts`): what rests on a host's
 * word that the instance is there, what its client wants gone, and what changes nothing of where it runs. Everything else gives an
 * attempt up, or makes another, and is left until all hosts were heard. A new step waits unless it stands here.
 */
export function isDoneWhileUncertain(step: Step, observed: Observation): boolean {
  switch (step.kind) {
    case 'set_power_state':
      return step.powerState === 'shutdown';
    case 'record_power_change':
      return step.state === 'stopping';
    case 'record_stopped':
      // What a move has left at its source does not run, either.
      return observed.kind !== 'running';
    default:
      return DONE.includes(step.kind);
  }
}

const DONE: readonly Step['kind'][] = [
  'none',
  'wait',
  'doubt',
  'read_claim',
  'adopt',
  'claim_again',
  'correct_token',
  'release',
  'record_active',
  'record_built_to_stop',
  'record_arrived',
  'record_returned',
  'record_unknown',
  'record_position',
  'record_missing',
  'record_source_missing',
  'record_not_moved',
  'record_not_rebuilt',
  'hold_source',
  'finish_move',
  'record_deleting',
  'destroy',
  'close_record',
];
