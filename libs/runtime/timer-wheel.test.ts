import { fakeClock } from '../testing/fake-clock';
import { createTimerWheel } from './timer-wheel';

function fixture() {
  const clock = fakeClock(1_000);
  const seen: string[] = [];
  const wheel = createTimerWheel<string>(clock, 10, (key) => seen.push(`${key} ${clock.now()}`));
  return { clock, seen, wheel };
}

it('calls each key once, at most a tick late', async () => {
  const { clock, seen, wheel } = fixture();
  wheel.set('b', 1_035);
  wheel.set('a', 1_020);
  await clock.advance(500);
  expect(seen).toEqual(['a 1020', 'b 1040']);
});

it('moves a key that is set again', async () => {
  const { clock, seen, wheel } = fixture();
  wheel.set('a', 1_100);
  wheel.set('a', 1_030);
  await clock.advance(500);
  expect(seen).toEqual(['a 1030']);
});

it('only brings a key forward with setBy', async () => {
  const { clock, seen, wheel } = fixture();
  wheel.set('a', 1_100);
  wheel.setBy('a', 1_200);
  wheel.set('b', 1_100);
  wheel.setBy('b', 1_050);
  await clock.advance(500);
  expect(seen).toEqual(['b 1050', 'a 1100']);
});

it('has one timer for any number of keys and none when nothing waits', async () => {
  const { clock, wheel } = fixture();
  for (let n = 0; n < 1_000; n++) wheel.set(`key-${n}`, 1_000 + n);
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
  const { clock, seen, wheel } = fixture();
  wheel.set('a', 1_010);
  wheel.stop();
  await clock.advance(100);
  expect(seen).toEqual([]);
  expect(clock.pending).toBe(0);
});
