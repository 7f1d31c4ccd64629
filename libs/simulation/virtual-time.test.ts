import { VirtualTime } from './virtual-time';

it('runs events by their time, and those of one time in the order in which they were set', async () => {
  const time = new VirtualTime(100);
  const seen: string[] = [];
  for (const [atMs, name] of [
    [30, 'c'],
    [10, 'a'],
    [30, 'd'],
    [20, 'b'],
  ] as const) {
    time.at(100 + atMs, () => seen.push(`${name} at ${time.nowMs - 100}`));
  }
  await time.runUntil(125);
  expect(seen).toEqual(['a at 10', 'b at 20']);
  expect(time.nowMs).toBe(125);
  await time.runUntil(200);
  expect(seen.slice(2)).toEqual(['c at 30', 'd at 30']);
});

it('lets all promises of an event run before the next event', async () => {
  const time = new VirtualTime(0);
  const seen: string[] = [];
  time.at(1, () => {
    void (async () => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      await new Promise((resolve) => process.nextTick(resolve));
      seen.push('first, to its end');
    })();
  });
  time.at(1, () => seen.push('second'));
  await time.runUntil(1);
  expect(seen).toEqual(['first, to its end', 'second']);
});

it('runs what is set meanwhile, and nothing that is cancelled', async () => {
  const time = new VirtualTime(0);
  const seen: number[] = [];
  const cancel = time.at(3, () => seen.push(-1));
  const again = () => {
    seen.push(time.nowMs);
    if (time.nowMs < 5) time.at(time.nowMs + 1, again);
    if (time.nowMs === 2) cancel();
  };
  time.at(1, again);
  await time.runUntil(100);
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  expect(time.stepCount).toBe(5);
});
