import { shrink } from './shrink';

it('leaves nothing that can be left out', async () => {
  const all = Array.from({ length: 40 }, (_, n) => n);
  const needed = [3, 17, 18, 39];
  const left = await shrink(all, async (part) => needed.every((one) => part.includes(one)));
  expect(left).toEqual(needed);
});

it('leaves nothing at all of what fails by itself', async () => {
  expect(await shrink([1, 2, 3], async () => true)).toEqual([]);
});
