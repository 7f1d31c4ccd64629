import { gate } from '../../testing/inbox';
import { Room } from './room';

it('starts as many at once as there is room for, the others in their order', async () => {
  const room = new Room(2);
  const started: number[] = [];
  const gates = Array.from({ length: 5 }, () => gate());
  const works = gates.map(({ opened }, n) =>
    room.run(() => {
      started.push(n);
      return opened;
    }),
  );
  expect(started).toEqual([0, 1]);
  gates[1]?.open();
  await works[1];
  await new Promise(setImmediate);
  expect(started).toEqual([0, 1, 2]);
  for (const one of gates) one.open();
  await Promise.all(works);
  expect(started).toEqual([0, 1, 2, 3, 4]);
});
