import { fakeClock } from '../testing/fake-clock';
import { storeClock } from './store-clock';

it("goes by the store's clock, whatever becomes of the machine's", async () => {
  const machine = fakeClock(1_000_000);
  const clock = storeClock(machine);
  expect(clock.now()).toBe(1_000_000);
  const askedAtMs = clock.elapsed();
  await machine.advance(20);
  // It answered after half of that.
  clock.set(5_000_000, askedAtMs);
  expect(clock.now()).toBe(5_000_010);
  machine.jump(-3_600_000);
  await machine.advance(1_000);
  expect(clock.now()).toBe(5_001_010);
  machine.jump(7_200_000);
  expect(clock.now()).toBe(5_001_010);
});

it('is not led astray by an answer that was long under way, but for what it proves', async () => {
  const machine = fakeClock(1_000_000);
  const clock = storeClock(machine);
  clock.set(5_000_000, clock.elapsed());
  const askedAtMs = clock.elapsed();
  // Answered at once; whoever asked stood still before it saw that.
  await machine.advance(6_000);
  clock.set(5_000_000, askedAtMs);
  expect(clock.now()).toBe(5_006_000);
  // The store's clock was set: it is no earlier than the answer says, and no later than it can be since the question.
  clock.set(9_000_000, askedAtMs);
  expect(clock.now()).toBe(9_000_000);
  clock.set(1_000_000, askedAtMs);
  expect(clock.now()).toBe(1_006_000);
});
