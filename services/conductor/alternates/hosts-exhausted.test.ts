import type { Attempt } from '#libs/domain/instance';
import { hostsExhausted } from './hosts-exhausted';

const failed = (host: string, reason: string, outcome: Attempt['outcome'] = 'failed'): Attempt => ({
  host,
  number: 1,
  outcome,
  reason,
  startedAtMs: 0,
  endedAtMs: 1,
});
const onEach = (count: number, reason: (host: string) => string, outcome?: Attempt['outcome']) =>
  Array.from({ length: count }, (_, i) => failed(`h${i + 1}`, reason(`h${i + 1}`), outcome));

it('says once what all attempts said, with who and where', () => {
  const { reason, message } = hostsExhausted(onEach(5, () => 'image not found'));
  expect(reason).toBe('hosts_exhausted');
  expect(message).toBe('5 of 5: image not found; said the compute agents of h1, h2, h3, h4, h5');
});

it('takes reasons as alike that differ in the name of the host only', () => {
  const { message } = hostsExhausted(onEach(2, (host) => `no disk on ${host}`));
  expect(message).toBe('2 of 2: no disk on the host; said the compute agents of h1, h2');
});

it("tells the conductor's own findings from what agents said", () => {
  const { message } = hostsExhausted(onEach(2, () => 'no answer within 10 ms', 'timed_out'));
  expect(message).toBe('2 of 2: no answer within 10 ms; noted by the conductor for h1, h2');
});

it('names some of many hosts', () => {
  expect(hostsExhausted(onEach(12, () => 'x')).message).toMatch(/^12 of 12: x; .* of h1, .*, h8 and 4 more$/);
});

it.each([
  ['reasons', [failed('h1', 'image not found'), failed('h2', 'disk full')], 'disk full'],
  ['outcomes', [failed('h1', 'down', 'timed_out'), failed('h2', 'down')], 'down'],
])('names the last failure where %s differ', (_, tried, last) => {
  expect(hostsExhausted(tried).message).toBe(`tried 2 hosts and no alternate is left; h2 said: ${last}`);
});
