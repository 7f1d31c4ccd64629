import { gate } from '../../../testing/bus/inbox';
import { ConcurrencyLimit } from './concurrency-limit';

const tick = () => new Promise(setImmediate);

it('starts as many at once as the limit says, the others in their order', async () => {
  const limit = new ConcurrencyLimit(2);
  const started: number[] = [];
  const gates = Array.from({ length: 5 }, () => gate());
  const works = gates.map(({ opened }, n) =>
    limit.run(() => {
      started.push(n);
      return opened;
    }),
  );
  expect(started).toEqual([0, 1]);
  gates[1]?.open();
  await works[1];
  await tick();
  expect(started).toEqual([0, 1, 2]);
  for (const one of gates) one.open();
  await Promise.all(works);
  expect(started).toEqual([0, 1, 2, 3, 4]);
});

it('starts two frames in a tick, after what the first of them put off to its end', async () => {
  const limit = new ConcurrencyLimit(1_000);
  const happened: string[] = [];
  const start = async () => {
    if (happened.length === 0) setImmediate(() => happened.push('end of tick'));
    happened.push('start');
  };
  const works = Array.from({ length: 150 }, () => limit.run(start));
  expect(happened).toHaveLength(64);
  await tick();
  expect(happened.indexOf('end of tick')).toBe(64);
  expect(happened).toHaveLength(1 + 128);
  await Promise.all(works);
  expect(happened).toHaveLength(1 + 150);
});

it('counts each tick anew, however few were started in the last', async () => {
  const limit = new ConcurrencyLimit(1_000);
  for (let n = 0; n < 3; n++) {
    let startedCount = 0;
    const start = async () => {
      startedCount++;
    };
    const works = Array.from({ length: 60 }, () => limit.run(start));
    expect(startedCount).toBe(60);
    await Promise.all(works);
    await tick();
  }
});

it('starts no more bytes of bodies at once than it may, and one that is larger alone', async () => {
  const limit = new ConcurrencyLimit(10, 100);
  const started: number[] = [];
  const sizes = [60, 50, 10, 500];
  const gates = sizes.map(() => gate());
  const works = gates.map(({ opened }, n) =>
    limit.run(() => {
      started.push(n);
      return opened;
    }, sizes[n]),
  );
  expect(started).toEqual([0]);
  gates[0]?.open();
  await works[0];
  expect(started).toEqual([0, 1, 2]);
  gates[1]?.open();
  gates[2]?.open();
  await Promise.all([works[1], works[2]]);
  expect(started).toEqual([0, 1, 2, 3]);
  gates[3]?.open();
  await works[3];
});
