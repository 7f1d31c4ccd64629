import { createSlots } from './slots';

it('lets in as many as there are slots, and the rest in order', async () => {
  const slots = createSlots(2);
  const entered: number[] = [];
  const releases = new Map<number, (() => void) | undefined>();
  const enter = async (n: number) => {
    releases.set(n, await slots.take());
    entered.push(n);
  };
  const all = Promise.all([1, 2, 3, 4].map(enter));
  await Promise.resolve();
  expect(entered).toEqual([1, 2]);
  releases.get(2)?.();
  await new Promise(setImmediate);
  expect(entered).toEqual([1, 2, 3]);
  releases.get(1)?.();
  await all;
  expect(entered).toEqual([1, 2, 3, 4]);
});

it('lets somebody leave the line without losing a slot', async () => {
  const slots = createSlots(1);
  const first = await slots.take();
  const impatient = new AbortController();
  const second = slots.take(impatient.signal);
  const third = slots.take();
  impatient.abort();
  expect(await second).toBeUndefined();
  first?.();
  expect(await third).toBeDefined();
});

it('gives nothing to who has left already', async () => {
  expect(await createSlots(1).take(AbortSignal.abort())).toBeUndefined();
});
