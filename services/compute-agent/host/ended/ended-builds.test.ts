import { fakeClock } from '#libs/testing/fake-clock';
import { memoryJournal } from '../../memory-journal';
import { createEndedBuilds, type EndedBuildsParts, MAX_ENDED } from './ended-builds';
import { keptMsOf } from './kept-ms';

const RESULT = { outcome: 'failed', reason: 'fake_failure', message: 'it failed' } as const;

function endedBuilds(journal = memoryJournal(), clock = fakeClock()) {
  const keptMs = keptMsOf(clock, { storeNowMs: () => clock.elapsed() });
  const drainEnd = new AbortController().signal;
  return createEndedBuilds({ journal, clock, keptMs, drainEnd } as unknown as EndedBuildsParts);
}

it('keeps no more than so many, and drops the oldest', async () => {
  const journal = memoryJournal();
  const ended = endedBuilds(journal);
  for (let n = 0; n <= MAX_ENDED; n++) await ended.keep({ uuid: `i${n}`, attempt: 1, claimToken: 7 });
  const kept = await journal.loadEnded();
  expect(kept).toHaveLength(MAX_ENDED);
  expect(kept[0]?.uuid).toBe('i1');
});

it('recalls in the next run what failed and what was lost, and forgets both in time', async () => {
  const journal = memoryJournal();
  const failed = { uuid: 'failed', attempt: 2, claimToken: 7, result: RESULT };
  const lost = { uuid: 'lost', attempt: 1, claimToken: 7 };
  await endedBuilds(journal).keep(failed);
  await endedBuilds(journal).keep(lost);
  const clock = fakeClock();
  expect(await endedBuilds(journal, clock).recall()).toEqual([failed, lost]);
  await clock.advance(600_000);
  expect(await journal.loadEnded()).toEqual([]);
});

it('keeps what was destroyed until the deadline of its build, by the store, and no longer than a day', async () => {
  const journal = memoryJournal();
  const clock = fakeClock();
  const destroyed = { uuid: 'destroyed', attempt: 1, claimToken: 7, deadlineAtMs: clock.elapsed() + 3_600_000 };
  await endedBuilds(journal).keep(destroyed);
  await endedBuilds(journal).keep({ ...destroyed, uuid: 'far', deadlineAtMs: 1e15 });
  await endedBuilds(journal, clock).recall();
  await clock.advance(3_599_999);
  expect(await journal.loadEnded()).toHaveLength(2);
  await clock.advance(1);
  expect(await journal.loadEnded()).toMatchObject([{ uuid: 'far' }]);
  await clock.advance(86_400_000);
  expect(await journal.loadEnded()).toEqual([]);
});

it.each([
  ['a later failure over an earlier destroy', { attempt: 2, claimToken: 9, result: RESULT }],
  ['the later of attempts and claims', { attempt: 3, claimToken: 5 }, { attempt: 3, claimToken: 9 }],
  ['a destroy of all attempts', { attempt: 9, claimToken: 9 }],
])('keeps %s', async (_, ended, kept: object = ended) => {
  const journal = memoryJournal();
  const builds = endedBuilds(journal);
  await builds.keep({ uuid: 'i1', attempt: 1, claimToken: 9 });
  await builds.keep({ uuid: 'i1', ...ended });
  await builds.keep({ uuid: 'i1', attempt: 1, claimToken: 4 });
  expect(await journal.loadEnded()).toMatchObject([{ uuid: 'i1', ...kept }]);
});
