import { fakeClock } from '#libs/testing/fake-clock';
import { createConcludedBuilds } from './concluded-builds';

const RESULT = { outcome: 'failed', reason: 'fake_failure', message: 'it failed' } as const;

it.each([
  ['the order again', 2, 7, RESULT],
  ['an earlier one', 1, 5, RESULT],
  ['a later attempt', 3, 8, undefined],
  ['an attempt of that number by a later claim, as after a loss', 2, 8, undefined],
])('answers %s', (_, attempt, claimToken, result) => {
  const concluded = createConcludedBuilds(fakeClock(), () => 600_000);
  concluded.add({ instanceUuid: 'i1', attempt: 2, claimToken: 7 }, RESULT);
  expect(concluded.resultOf({ instanceUuid: 'i1', attempt, claimToken })).toEqual(result);
});
