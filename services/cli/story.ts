import type { BerthError } from '#libs/domain/errors';
import type { Attempt, InstanceState } from '#libs/domain/instance';
import type { Terminal } from './terminal';

/** What led an instance to where it is, in a line: `host-3 failed (boot_failed), host-7 active`, or the fault. */
export function storyOf(instance: {
  readonly attempts: readonly Attempt[];
  readonly fault: BerthError | undefined;
}): string {
  const attempts = instance.attempts
    .filter((attempt, i, all) => i < all.length - 1 || attempt.outcome !== 'active')
    .map(({ host, outcome, reason }) => `${host} ${outcome}${reason === '' ? '' : ` (${reason})`}`);
  const fault = instance.fault === undefined ? [] : [`${instance.fault.reason}: ${instance.fault.message}`];
  return [...attempts, ...fault].join(', ');
}

/** A state in capitals, coloured by whether it is well. */
export function showState(terminal: Terminal, state: InstanceState): string {
  const { green, red, yellow, dim } = terminal.colours;
  const text = state.toUpperCase();
  switch (state) {
    case 'active':
      return green(text);
    case 'error':
      return red(text);
    case 'deleted':
      return dim(text);
    case 'scheduling':
    case 'building':
    case 'deleting':
      return yellow(text);
  }
}
