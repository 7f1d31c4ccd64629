import { fakeClock } from '#libs/testing/fake-clock';
import { memoryJournal } from '../../memory-journal';
import { createEndedBuilds, type EndedBuildsParts, MAX_ENDED } from './ended-builds';

const RESULT = { outcome: 'failed', reason: 'fake_failure', message: 'it failed' } as const;

function endedBuilds(journal = memoryJournal(), clock = fakeClock()) {
  return createEndedBuilds({ journal, clock, drainEnd: new AbortController().signal } as unknown as EndedBuildsParts);
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
