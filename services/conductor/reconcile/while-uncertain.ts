import type { Observation } from '../observation';
import type { Step } from '../step';

/**
 * Steps allowed while a record may be older than its instance (`losses/hearing.ts`): those based on a host's report that the
 * instance is there, those that its client asked to end it, and those that change nothing of where it runs. All others give
 * an attempt up, or make another, and wait until all hosts were heard. A new step waits unless it stands here.
 */
export function isDoneWhileUncertain(step: Step, observed: Observation): boolean {
  switch (step.kind) {
    case 'set_power_state':
      return step.powerState === 'shutdown';
    case 'record_power_change':
      return step.state === 'stopping';
    case 'record_stopped':
      // A copy left at a move's source does not run, either.
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
