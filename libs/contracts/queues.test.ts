import { operatorTopic } from './queues';

it('keeps the topic of an action within what the broker carries, whatever its user is called', () => {
  expect(operatorTopic('host_disable', 'ann.b')).toBe('operator.host_disable.ann%2Eb');
  for (const user of ['.'.repeat(255), 'é'.repeat(255)])
    expect(Buffer.byteLength(operatorTopic('host_disable', user))).toBeLessThan(255);
});
