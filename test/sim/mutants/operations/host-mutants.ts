import { Client } from '#libs/client/client';
import * as draining from '#libs/client/drain/next-move';
import * as deleting from '../../../../services/conductor/triggers/delete-host';
import { computeFilter } from '../../../../services/scheduler/filters/compute';
import { type Mutant, mutant, withFocus } from '../mutant';

export const HOST_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('drain-moves-nothing', 'that a drain moves what is there', draining, 'nextMove', (original) => {
      return (...seen) => {
        const next = original(...seen);
        return next.kind === 'move' ? { kind: 'stays', reason: 'it came back' } : next;
      };
    }),
    'drain a host',
  ),
  withFocus(
    mutant('drained-gets-more', 'that a disabled host gets nothing', computeFilter, 'prepare', (original) => {
      return (...about) => original(...about).filter((_check, n) => n !== 1);
    }),
    'drain a host',
    'build that waits',
    'fleet is crowded',
  ),
  withFocus(
    mutant(
      'deletes-the-living',
      'that a host which is deleted is dead and empty',
      deleting,
      'deleteHost',
      () =>
        async (c, { host }) => {
          await c.placement.commit({ kind: 'delete_host', host, atMs: c.clock.now() });
          return { serviceHost: host };
        },
    ),
    'delete a host',
  ),
  withFocus(
    mutant('queue-outlives-its-host', 'deleting the queue of a host', Client.prototype, 'deleteHost', (original) => {
      return function (this: Client, host) {
        return original.call(this, host, { withQueue: false });
      };
    }),
    'delete dead hosts',
  ),
];
