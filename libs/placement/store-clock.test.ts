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
