import { sleep } from '../domain/clock';
import { fakeClock } from './fake-clock';

it('runs timers in the order of their time, then of their setting', async () => {
  const clock = fakeClock(0);
  const seen: string[] = [];
  clock.after(20, () => seen.push(`late ${clock.now()}`));
  clock.after(10, () => seen.push(`first ${clock.now()}`));
  clock.after(10, () => seen.push(`second ${clock.now()}`));
  await clock.advance(15);
  expect(seen).toEqual(['first 10', 'second 10']);
  expect(clock.now()).toBe(15);
  await clock.advance(5);
  expect(seen).toEqual(['first 10', 'second 10', 'late 20']);
});

it('runs timers that promises set on the way', async () => {
  const clock = fakeClock(0);
  let rounds = 0;
  const loop = async () => {
    for (; rounds < 5; rounds++) await sleep(clock, 10);
  };
  const done = loop();
  await clock.advance(50);
  expect(rounds).toBe(5);
  await done;
});

it('forgets a cancelled timer', async () => {
  const clock = fakeClock(0);
  let ran = false;
  const cancel = clock.after(1, () => {
    ran = true;
  });
  cancel();
  expect(clock.pending).toBe(0);
  await clock.advance(10);
  expect(ran).toBe(false);
});
