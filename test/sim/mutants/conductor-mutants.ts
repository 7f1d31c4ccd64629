import { ACK } from '#libs/bus/port';
import { seededRandom, seedOf } from '#libs/domain/random';
import * as lifecycle from '../../../services/conductor/lifecycle';
import * as claims from '../../../services/conductor/steps/claims';
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
    return consumer ? { kind: 'claim', claimToken: consumer.claimToken } : { kind: 'none' };
  }),
  mutant('destroy-not-ordered', 'ordering a destruction', orders, 'orderDestroy', () => async () => true),
];
