import { fakeClock } from '../testing/fake-clock';
import { createTimerWheel } from './timer-wheel';

function fixture() {
  const clock = fakeClock();
  const beganMs = clock.elapsed();
  const seen: string[] = [];
  const wheel = createTimerWheel<string>(clock, 10, (key) => seen.push(`${key} ${clock.elapsed() - beganMs}`));
  return { clock, seen, wheel, beganMs };
}

it('calls each key once, at most a tick late', async () => {
  const { clock, seen, wheel, beganMs } = fixture();
  wheel.set('b', beganMs + 35);
  wheel.set('a', beganMs + 20);
  await clock.advance(500);
  expect(seen).toEqual(['a 20', 'b 40']);
});

it('moves a key that is set again', async () => {
  const { clock, seen, wheel, beganMs } = fixture();
  wheel.set('a', beganMs + 100);
  wheel.set('a', beganMs + 30);
  await clock.advance(500);
  expect(seen).toEqual(['a 30']);
});

it('only brings a key forward with setBy', async () => {
  const { clock, seen, wheel, beganMs } = fixture();
  wheel.set('a', beganMs + 100);
  wheel.setBy('a', beganMs + 200);
  wheel.set('b', beganMs + 100);
  wheel.setBy('b', beganMs + 50);
  await clock.advance(500);
  expect(seen).toEqual(['b 50', 'a 100']);
});

it('has one timer for any number of keys and none when nothing waits', async () => {
  const { clock, wheel, beganMs } = fixture();
  for (let n = 0; n < 1_000; n++) wheel.set(`key-${n}`, beganMs + n);
  expect(clock.pending).toBe(1);
  await clock.advance(2_000);
  expect(clock.pending).toBe(0);
});

it('lets a key set itself again when it is due, also in the past', async () => {
  const clock = fakeClock(0);
  let rounds = 0;
  const wheel = createTimerWheel<string>(clock, 10, (key) => {
    if (++rounds < 4) wheel.set(key, 0);
  });
  wheel.set('a', 0);
  await clock.advance(100);
  expect(rounds).toBe(4);
});

it('calls nobody after it stopped', async () => {
  const { clock, seen, wheel, beganMs } = fixture();
  wheel.set('a', beganMs + 10);
  wheel.stop();
  await clock.advance(100);
  expect(seen).toEqual([]);
  expect(clock.pending).toBe(0);
});
