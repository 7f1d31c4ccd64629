import { fakeClock } from '../testing/fake-clock';
import { guessLimit } from './guess-limit';

it('lets an address guess so often in a minute, others as often, and what was good always', async () => {
  const clock = fakeClock();
  const limit = guessLimit(clock);
  limit.passed('good');
  for (let n = 0; n < 20; n++) {
    expect(limit.waitMs('10.0.0.1', `guess-${n}`)).toBe(0);
    limit.failed('10.0.0.1');
  }
  await clock.advance(10_000);
  expect(limit.waitMs('10.0.0.1', 'guess')).toBe(50_000);
  expect(limit.waitMs('10.0.0.1', 'good')).toBe(0);
  expect(limit.waitMs('10.0.0.2', 'guess')).toBe(0);
  await clock.advance(50_000);
  expect(limit.waitMs('10.0.0.1', 'guess')).toBe(0);
});

it('keeps a bound of addresses', () => {
  const limit = guessLimit(fakeClock());
  for (let n = 0; n < 20; n++) limit.failed('first');
  for (let n = 0; n < 10_000; n++) limit.failed(`address-${n}`);
  expect(limit.waitMs('first', 'guess')).toBe(0);
});
