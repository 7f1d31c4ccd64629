import { createSemaphore, type Release } from './semaphore';

const never = new AbortController().signal;
const pass = () => new Promise(setImmediate);

it('gives out as many permits as there are, and to the others in their order', async () => {
  const semaphore = createSemaphore(2);
  const entered: number[] = [];
  const releases = new Map<number, Release | undefined>();
  const enter = async (n: number) => {
    releases.set(n, await semaphore.acquire(never));
    entered.push(n);
  };
  const all = Promise.all([1, 2, 3, 4].map(enter));
  await pass();
  expect(entered).toEqual([1, 2]);
  releases.get(2)?.();
  await pass();
  expect(entered).toEqual([1, 2, 3]);
  releases.get(1)?.();
  await all;
  expect(entered).toEqual([1, 2, 3, 4]);
});

it('takes a waiter out of the line when its signal aborts, and loses no permit by it', async () => {
  const semaphore = createSemaphore(1);
  const first = await semaphore.acquire(never);
  const leaving = new AbortController();
  const second = semaphore.acquire(leaving.signal);
  const third = semaphore.acquire(never);
  leaving.abort();
  expect(await second).toBeUndefined();
  first?.();
  expect(await third).toBeDefined();
});

it('gives nothing when the signal has aborted already', async () => {
  expect(await createSemaphore(1).acquire(AbortSignal.abort())).toBeUndefined();
});

it('takes a permit back once, however often it is released', async () => {
  const semaphore = createSemaphore(1);
  const release = await semaphore.acquire(never);
  release?.();
  release?.();
  await semaphore.acquire(never);
  let hasEntered = false;
  void semaphore.acquire(never).then(() => {
    hasEntered = true;
  });
  await pass();
  expect(hasEntered).toBe(false);
});

it('runs actions at once while permits are free, the rest in order as they end', async () => {
  const semaphore = createSemaphore(2);
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    semaphore.run(() => {
      started.push(n);
      return new Promise<number>((resolve) => {
        ends[n] = () => resolve(n);
      });
    }),
  );
  expect(started).toEqual([0, 1]);
  ends[1]?.();
  await pass();
  expect(started).toEqual([0, 1, 2]);
  ends[0]?.();
  ends[2]?.();
  await pass();
  ends[3]?.();
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3]);
});

it('goes on after an action that failed, and tells its caller', async () => {
  const semaphore = createSemaphore(1);
  const failing = semaphore.run(() => Promise.reject(new Error('no')));
  const next = semaphore.run(async () => 'next');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});
