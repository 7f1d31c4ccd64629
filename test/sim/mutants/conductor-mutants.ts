import { ACK } from '#libs/bus/port';
import { seededRandom, seedOf } from '#libs/domain/random';
import * as store from '#libs/instances/memory/instance-store';
import * as storeClocks from '#libs/placement/store-clock';
import * as draining from '../../../services/conductor/events/drain-outbox';
import * as publishing from '../../../services/conductor/events/publish-events';
import * as lifecycle from '../../../services/conductor/lifecycle';
import * as nextAlternate from '../../../services/conductor/steps/next-alternate';
import * as orders from '../../../services/conductor/steps/orders';
import * as sweeping from '../../../services/conductor/triggers/overdue-sweep';
import * as settling from '../../../services/conductor/triggers/settle-message';
import { type Mutant, mutant, withFocus } from './mutant';

export const CONDUCTOR_MUTANTS: readonly Mutant[] = [
  mutant('ack-before-effect', 'acking a message after its effects', settling, 'settleMessage', (original) => {
    return async (c, message, work) => {
      original(c, message, work).catch(() => {});
      return ACK;
    };
  }),
  mutant('request-twice', 'idempotence by request id', lifecycle, 'createRecords', (original) => {
    return (c, requestId, records) => {
      const random = seededRandom(seedOf(`${requestId} ${c.clock.now()}`));
      const fresh = records.map((record) => ({ ...record, uuid: random.uuid(), requestId: random.uuid() }));
      return original(c, fresh[0]?.requestId ?? requestId, fresh);
    };
  }),
  mutant('nobody-sweeps', 'looking at what is overdue', sweeping, 'sweepOverdue', () => async () => {}),
  mutant('versions-not-checked', 'the version in the write of a record', store, 'memoryInstanceStore', (original) => {
    return (...args) => {
      const real = original(...args);
      return {
        ...real,
        update: async (next) => {
          const [present] = await real.get([next.uuid]);
          return real.update({ ...next, version: (present?.version ?? 0) + 1 });
        },
      };
    };
  }),
  mutant('alternate-not-claimed', 'claiming the next host', nextAlternate, 'claimNextHost', (original) => {
    return (c, record) => {
      const commit: typeof c.placement.commit = async (command) =>
        command.kind === 'write_allocations'
          ? ({ kind: 'committed', claimToken: record.claimToken ?? 0, change: { revision: 0 } } as const)
          : c.placement.commit(command);
      const placement = { consumers: c.placement.consumers.bind(c.placement), commit };
      return original({ ...c, placement: placement as unknown as typeof c.placement }, record);
    };
  }),
  withFocus(
    mutant('stopping-acks', 'giving back what is in hand when it stops', settling, 'settleMessage', (original) => {
      return async (c, message, work) => {
        const settlement = await original(c, message, work);
        return c.stopping.aborted ? ACK : settlement;
      };
    }),
    'conductors stop while the store is away',
  ),
  mutant('own-clock', "going by the store's clock", storeClocks, 'storeClock', () => (clock) => ({
    ...clock,
    set() {},
  })),
  mutant('destroy-not-ordered', 'ordering a destruction', orders, 'orderDestroy', () => async () => 'told'),
  mutant(
    'outbox-not-drained',
    'publishing the events that others left',
    draining,
    'keepDraining',
    () => async () => {},
  ),
  mutant('own-version-only', 'publishing earlier versions first', publishing, 'eventPublisher', (original) => {
    return (...args) => {
      const events = original(...args);
      return { ...events, publish: (versions) => events.publish(versions.slice(-1)) };
    };
  }),
];
