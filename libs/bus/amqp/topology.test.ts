import { agentQueue, BUILD_REQUESTS, RPC_SCHEDULER } from '../../contracts/queues';
import { DEAD_LETTER_QUEUE } from '../handling/dead-letter';
import { queueOptions, refusalOf } from './topology';

it('declares queues as the wire contract says', () => {
  expect(queueOptions(BUILD_REQUESTS)).toEqual({
    durable: true,
    maxLength: 100_000,
    overflow: 'reject-publish',
    deadLetterExchange: '',
    deadLetterRoutingKey: 'dead-letters',
    arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': 10 },
  });
  expect(queueOptions(agentQueue('host-1'))).toEqual({
    durable: true,
    maxLength: 10_000,
    overflow: 'reject-publish',
    deadLetterExchange: '',
    deadLetterRoutingKey: 'dead-letters',
  });
  expect(queueOptions(RPC_SCHEDULER)).toEqual({ durable: false, maxLength: 10_000, overflow: 'reject-publish' });
});

it('declares the dead letters without dead letters of their own, whoever names them', () => {
  const expected = { durable: true, maxLength: DEAD_LETTER_QUEUE.maxLength };
  expect(queueOptions({ name: 'dead-letters', kind: 'work', deliveryLimit: 3 })).toEqual(expected);
});

it.each([
  [406, 'failed_precondition', 'queue_mismatch'],
  [403, 'permission_denied', 'broker_refused'],
  [undefined, 'unavailable', 'connection_lost'],
])('understands the refusal %s', (code, expectedCode, reason) => {
  const refusal = refusalOf(Object.assign(new Error('it said so'), { code }), 'q');
  expect(refusal).toMatchObject({ code: expectedCode, reason });
});
