import { agentQueue, BUILD_REQUESTS, RPC_SCHEDULER } from '../../contracts/queues';
import { DEAD_LETTER_QUEUE } from '../handling/dead-letter';
import { queueArguments } from '../queue-arguments';
import { refusalOf } from './topology';

it('declares queues as the wire contract says', () => {
  const bury = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'dead-letters' };
  expect(queueArguments(BUILD_REQUESTS)).toEqual({
    'x-queue-type': 'quorum',
    'x-max-length': 100_000,
    'x-overflow': 'reject-publish',
    'x-delivery-limit': 10,
    ...bury,
  });
  expect(queueArguments(agentQueue('host-1'))).toEqual({
    'x-max-length': 10_000,
    'x-overflow': 'reject-publish',
    ...bury,
  });
  expect(queueArguments(RPC_SCHEDULER)).toEqual({
    'x-expires': 1_800_000,
    'x-max-length': 10_000,
    'x-overflow': 'reject-publish',
  });
});

it('declares the dead letters without dead letters of their own, whoever names them', () => {
  const expected = { 'x-max-length': DEAD_LETTER_QUEUE.maxLength, 'x-max-length-bytes': DEAD_LETTER_QUEUE.maxBytes };
  expect(queueArguments({ name: 'dead-letters', kind: 'work', deliveryLimit: 3 })).toEqual(expected);
});

it.each([
  [406, 'failed_precondition', 'queue_mismatch'],
  [403, 'permission_denied', 'broker_refused'],
  [undefined, 'unavailable', 'connection_lost'],
])('understands the refusal %s', (code, expectedCode, reason) => {
  const refusal = refusalOf(Object.assign(new Error('it said so'), { code }), 'q');
  expect(refusal).toMatchObject({ code: expectedCode, reason });
});
