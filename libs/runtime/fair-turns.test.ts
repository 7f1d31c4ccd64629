import { FairTurns } from './fair-turns';

/** Takes a turn for each name of `address/connection`, in this order; resolves to the order of the starts. */
async function startsOf(names: readonly string[]): Promise<readonly string[]> {
  const turns = new FairTurns();
  const connections = new Map<string, object>();
  const started: string[] = [];
  for (const name of names) {
    const connection = connections.get(name) ?? {};
    connections.set(name, connection);
    turns.take(name.split('/')[0] ?? '', connection, () => started.push(name));
  }
  while (started.length < names.length) await new Promise(setImmediate);
  return started;
}

const many = (name: string, count: number): readonly string[] => Array<string>(count).fill(name);

it('starts what comes alone at once', () => {
  const start = jest.fn();
  new FairTurns().take('a', {}, start);
  expect(start).toHaveBeenCalledTimes(1);
});

it('bounds what is started in a tick', async () => {
  const turns = new FairTurns();
  let started = 0;
  for (let n = 0; n < 100; n++) turns.take('a', {}, () => started++);
  expect(started).toBe(32);
  await new Promise(setImmediate);
  expect(started).toBe(64);
});

it('starts the only request of an address before the rest of what another sent first', async () => {
  const started = await startsOf([...many('a/1', 1_600), ...many('a/2', 1_600), 'b/1']);
  expect(started.indexOf('b/1')).toBeLessThanOrEqual(34);
});

it('starts the only request of a connection before the rest of what others of its address sent first', async () => {
  const started = await startsOf([...many('a/1', 1_000), ...many('a/2', 1_000), 'a/3']);
  expect(started.indexOf('a/3')).toBeLessThanOrEqual(35);
});

it('starts the requests of a connection in their order', async () => {
  const turns = new FairTurns();
  const [one, two] = [{}, {}];
  const started: number[] = [];
  for (let n = 0; n < 200; n++) turns.take('a', n % 2 ? one : two, () => started.push(n));
  while (started.length < 200) await new Promise(setImmediate);
  expect(started.filter((n) => n % 2)).toEqual(Array.from({ length: 100 }, (_, n) => 2 * n + 1));
});
