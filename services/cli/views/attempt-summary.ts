import type { BerthError } from '#libs/domain/errors';
import type { Attempt, InstanceState } from '#libs/domain/instance';
import { nameOfState } from '#libs/domain/instance';
import type { Terminal } from './terminal';

/** An instance's failed attempts and its fault, in a line: `host-3 failed (boot_failed), no_valid_host: ...`. */
export function attemptSummary(instance: {
  readonly attempts: readonly Attempt[];
  readonly fault: BerthError | undefined;
}): string {
  const attempts = instance.attempts
    .filter((attempt, i, all) => i < all.length - 1 || attempt.outcome !== 'active')
    .map(({ host, outcome, reason }) => `${host} ${outcome}${reason === '' ? '' : ` (${reason})`}`);
  const fault = instance.fault === undefined ? [] : [`${instance.fault.reason}: ${instance.fault.message}`];
  return [...attempts, ...fault].join(', ');
}

const COLOURS: Readonly<Record<InstanceState, 'green' | 'red' | 'yellow' | 'dim'>> = {
  scheduling: 'yellow',
  building: 'yellow',
  active: 'green',
  unknown: 'yellow',
  stopping: 'yellow',
  stopped: 'dim',
  starting: 'yellow',
  rebuilding: 'yellow',
  undoing: 'yellow',
  pending: 'yellow',
  preempting: 'yellow',
  shelving: 'yellow',
  shelved_offloaded: 'dim',
  unshelving: 'yellow',
  resize: 'yellow',
  verify_resize: 'green',
  revert_resize: 'yellow',
  migrating: 'yellow',
  error: 'red',
  deleting: 'yellow',
  deleted: 'dim',
};

/** A state in capitals: green when active, dim when stopped or deleted, red in error, yellow in between. */
export function showState(terminal: Terminal, state: InstanceState): string {
  return terminal.colours[COLOURS[state]](nameOfState(state));
}
