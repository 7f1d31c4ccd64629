import { MemoryBroker } from '#libs/bus/memory/broker';
import * as doubts from '#libs/instances/memory/doubt-store';
import * as outbox from '#libs/instances/memory/outbox';
import { Machine } from '../machine';
import { type Mutant, mutant } from './mutant';

/** What bounds what is kept. */
export const BOUND_MUTANTS: readonly Mutant[] = [
  mutant('journal-keeps-all', 'removing what is gone from the journal', Machine.prototype, 'journal', (original) => {
    return function journal(this: Machine) {
      return { ...original.call(this), remove: async () => {} };
    };
  }),
  mutant('doubts-stay', 'settling doubts that nobody finds any more', doubts, 'memoryDoubtStore', (original) => {
    return () => ({ ...original(), settleDoubt: async () => {} });
  }),
  mutant('outbox-keeps-all', 'taking what is published out of the outbox', outbox, 'memoryOutbox', (original) => {
    return (clock) => Object.assign(original(clock), { take() {} });
  }),
  mutant(
    'queues-stay',
    'deleting the queue of a connection that ends',
    MemoryBroker.prototype,
    'delete',
    () => () => {},
  ),
];
