import { History } from './history';
import { Link } from './link';
import { SimulatedProcess } from './simulated-process';
import { VirtualTime } from './virtual-time';

function aLink() {
  const time = new VirtualTime(0);
  const process = new SimulatedProcess('p', time, 'seed');
  const link = new Link(process, 'broker', new History(), { seed: 'seed' });
  const seen: string[] = [];
  const carry = (direction: 'out' | 'back', what: string) => link.carry(direction, what, () => seen.push(what));
  return { time, process, link, seen, carry };
}

it('keeps the order of each direction', async () => {
  const { time, carry, seen } = aLink();
  const sent = Array.from({ length: 50 }, (_, n) => `message ${n}`);
  for (const one of sent) carry('out', one);
  await time.runUntil(10_000);
  expect(seen).toEqual(sent);
});

it('loses what is under way when the connection breaks, and carries what is sent after', async () => {
  const { time, link, carry, seen } = aLink();
  let breaks = 0;
  link.onBreak(() => breaks++);
  carry('out', 'lost');
  link.break('a test');
  carry('out', 'kept');
  await time.runUntil(10_000);
  expect(seen).toEqual(['kept']);
  expect(breaks).toBe(1);
});

it('breaks in place of the message that was named', async () => {
  const { time, link, carry, seen } = aLink();
  link.insteadOf('back', 2, () => link.break('a test'));
  for (const what of ['first', 'second', 'third']) carry('back', what);
  await time.runUntil(10_000);
  expect(seen).toEqual(['first']);
});

it('holds what is sent while the way is cut', async () => {
  const { time, link, carry, seen } = aLink();
  link.cut();
  carry('out', 'held');
  await time.runUntil(10_000);
  expect(seen).toEqual([]);
  link.heal();
  await time.runUntil(20_000);
  expect(seen).toEqual(['held']);
});

it('gives a paused process what came meanwhile when it goes on, and a dead one nothing', async () => {
  const { time, process, carry, seen } = aLink();
  process.pause();
  carry('back', 'while paused');
  await time.runUntil(1_000);
  expect(seen).toEqual([]);
  process.resume();
  await time.runUntil(2_000);
  expect(seen).toEqual(['while paused']);
  carry('back', 'too late');
  process.kill();
  await time.runUntil(3_000);
  expect(seen).toEqual(['while paused']);
});
