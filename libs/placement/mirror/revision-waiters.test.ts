import { fakeClock } from '../../testing/fake-clock';
import { RevisionWaiters } from './revision-waiters';

const limits = { timeoutMs: 1_000 };

function idling(waiters: RevisionWaiters) {
  const state = { isOver: false };
  void waiters.idle(10).then(() => {
    state.isOver = true;
  });
  return state;
}

it('idles for the time when nobody waits', async () => {
  const clock = fakeClock();
  const idle = idling(new RevisionWaiters(clock));
  await clock.advance(9);
  expect(idle.isOver).toBe(false);
  await clock.advance(1);
  expect(idle.isOver).toBe(true);
});

it('ends idling as soon as somebody waits, and does not idle while somebody does', async () => {
  const clock = fakeClock();
  const waiters = new RevisionWaiters(clock);
  const idle = idling(waiters);
  const waiting = waiters.waitFor(2, 1, limits);
  await clock.advance(0);
  expect(idle.isOver).toBe(true);
  const next = idling(waiters);
  await clock.advance(0);
  expect(next.isOver).toBe(true);
  waiters.reached(2);
  await waiting;
  const last = idling(waiters);
  await clock.advance(0);
  expect(last.isOver).toBe(false);
});

it('ends idling when it closes, and does not idle afterwards', async () => {
  const clock = fakeClock();
  const waiters = new RevisionWaiters(clock);
  const idle = idling(waiters);
  waiters.close();
  const after = idling(waiters);
  await clock.advance(0);
  expect([idle.isOver, after.isOver]).toEqual([true, true]);
});
