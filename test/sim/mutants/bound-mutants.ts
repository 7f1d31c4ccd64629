import { MemoryBroker } from '#libs/bus/memory/broker';
import * as bounds from '#libs/instances/doubts';
import * as doubts from '#libs/instances/memory/doubt-store';
import * as outbox from '#libs/instances/memory/outbox';
import * as quarantining from '../../../services/scheduler/fleet/quarantine';
import { Machine } from '../machine';
import { type Mutant, mutant, withFocus } from './mutant';

/** Bounds on what is kept, and on what one of many may do to the others. */
export const BOUND_MUTANTS: readonly Mutant[] = [
  mutant('journal-keeps-all', 'removing what is gone from the journal', Machine.prototype, 'journal', (original) => {
    return function journal(this: Machine) {
      return { ...original.call(this), remove: async () => {} };
    };
  }),
  withFocus(
    mutant(
      'one-agent-doubts-all',
      'the share of doubts that an agent may fill',
      bounds,
      'DOUBT_BOUNDS',
      ({ recorded }) => {
        return { recorded, said: { max: 2_000, maxOfSource: 2_000 } } as unknown as typeof bounds.DOUBT_BOUNDS;
      },
    ),
    'flood of strays',
  ),
  mutant('doubts-stay', 'settling doubts that nobody finds any more', doubts, 'memoryDoubtStore', (original) => {
    return () => ({ ...original(), settleDoubt: async () => {} });
  }),
  mutant(
    'one-project-blames',
    'that several projects must fail on a host',
    quarantining,
    'quarantinesOf',
    (original) => {
      return (suspects, hostCount, options) => original(suspects, hostCount, { ...options, quarantineProjects: 1 });
    },
  ),
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
