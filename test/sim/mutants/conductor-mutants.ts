import { ACK } from '#libs/bus/port';
import * as instances from '#libs/domain/instance';
import { seededRandom, seedOf } from '#libs/domain/random';
import * as store from '#libs/instances/memory/instance-store';
import type { CommitResult } from '#libs/placement/port/placement-store';
import * as lifecycle from '../../../services/conductor/lifecycle';
import * as claims from '../../../services/conductor/steps/claims';
import * as alternates from '../../../services/conductor/steps/next-alternate';
import * as orders from '../../../services/conductor/steps/orders';
import * as sweeping from '../../../services/conductor/triggers/overdue-sweep';
import * as settling from '../../../services/conductor/triggers/settle-message';
import { type Mutant, mutant } from './mutant';

export const CONDUCTOR_MUTANTS: readonly Mutant[] = [
  mutant('ack-before-effect', 'acking a message after its effects', settling, 'settleMessage', (original) => {
    return async (c, message, work) => {
      original(c, message, work).catch(() => {});
      return ACK;
    };
  }),
  mutant('release-without-token', 'the token in a release', claims, 'release', (original) => async (c, uuid) => {
    const [consumer] = await c.placement.consumers([uuid]);
    if (consumer) await original(c, uuid, consumer.claimToken);
  }),
  mutant('request-twice', 'idempotence by request id', lifecycle, 'createRecords', (original) => {
    return (c, requestId, records) => {
      const random = seededRandom(seedOf(`${requestId} ${c.clock.now()}`));
      const fresh = records.map((record) => ({ ...record, uuid: random.uuid(), requestId: random.uuid() }));
      return original(c, fresh[0]?.requestId ?? requestId, fresh);
    };
  }),
  mutant('nobody-sweeps', 'looking at what is overdue', sweeping, 'sweepOverdue', () => async () => {}),
  mutant('foreign-claims-are-ours', 'telling whose a claim is', claims, 'readClaim', () => async (c, uuid) => {
    const [consumer] = await c.placement.consumers([uuid]);
    return consumer ? { kind: 'claim', claimToken: consumer.claimToken, isOnHost: true } : { kind: 'none' };
  }),
  mutant('alternate-not-claimed', 'claiming an alternate before it builds', alternates, 'claimNextHost', (original) => {
    return (c, record) => {
      const commit = async () => ({ kind: 'committed', claimToken: 0 }) as unknown as CommitResult;
      return original({ ...c, placement: { ...c.placement, commit, consumers: async () => [] } }, record);
    };
  }),
  mutant('attempts-not-told-apart', 'the numbers of attempts', instances, 'attemptNumber', () => () => 1),
  mutant(
    'stopping-acks',
    'giving back what a stopping conductor has in hand',
    settling,
    'settleMessage',
    (original) => {
      return async (c, message, work) => {
        const settlement = await original(c, message, work);
        return settlement.kind === 'requeue' ? ACK : settlement;
      };
    },
  ),
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
  mutant('destroy-not-ordered', 'ordering a destruction', orders, 'orderDestroy', () => async () => 'told'),
];
