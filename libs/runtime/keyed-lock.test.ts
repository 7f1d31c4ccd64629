import { createKeyedLock } from './keyed-lock';

function fixture() {
  const lock = createKeyedLock();
  const started: string[] = [];
  const ends = new Map<string, { resolve: (value: string) => void; reject: (error: Error) => void }>();
  const run = (key: string, name: string) =>
    lock.run(key, () => {
      started.push(name);
      return new Promise<string>((resolve, reject) => ends.set(name, { resolve, reject }));
    });
  return { started, ends, run };
}
const pass = () => new Promise(setImmediate);

it('runs actions of one key one after the other, in their order', async () => {
  const { started, ends, run } = fixture();
  const all = Promise.all(['1', '2', '3'].map((name) => run('a', name)));
  for (const name of ['1', '2', '3']) {
    await pass();
    expect(started.at(-1)).toBe(name);
    ends.get(name)?.resolve(name);
  }
  expect(await all).toEqual(['1', '2', '3']);
  expect(started).toEqual(['1', '2', '3']);
});

it('runs actions of different keys at once, in the same tick', () => {
  const { started, run } = fixture();
  void run('a', '1');
  void run('b', '2');
  expect(started).toEqual(['1', '2']);
});

it('goes on after an action that failed, and tells only its caller', async () => {
  const { started, ends, run } = fixture();
  const [first, second] = [run('a', '1'), run('a', '2')];
  ends.get('1')?.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  await pass();
  expect(started).toEqual(['1', '2']);
  ends.get('2')?.resolve('done');
  expect(await second).toBe('done');
});

it('is free again when all have ended', async () => {
  const { started, ends, run } = fixture();
  const first = run('a', '1');
  ends.get('1')?.resolve('');
  await first;
  void run('a', '2');
  expect(started).toEqual(['1', '2']);
});
