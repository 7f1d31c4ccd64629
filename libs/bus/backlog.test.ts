import { BerthError } from '../domain/errors';
import { fakeClock } from '../testing/fake-clock';
import { backlogOf } from './backlog';

it('is there while more messages wait than are taken in a second, and when nobody can say how many', async () => {
  const clock = fakeClock();
  let [waiting, count] = [0, 0];
  const depth = async () => {
    if (waiting < 0) throw new BerthError('unavailable', 'not_connected', 'the broker is away');
    return waiting;
  };
  const backlog = backlogOf({ depth, taken: () => count }, 'stats', clock);
  const look = async (nowWaiting: number, taken: number) => {
    await clock.advance(2_000);
    [waiting, count] = [nowWaiting, count + taken];
    return backlog();
  };
  expect(await look(0, 0)).toBeUndefined();
  expect(await look(8, 0)).toBeUndefined();
  expect(await look(9, 0)).toEqual({ waiting: 9, takenPerSecond: 0 });
  expect(await look(100, 400)).toBeUndefined();
  expect(await look(201, 400)).toEqual({ waiting: 201, takenPerSecond: 200 });
  expect(await look(-1, 400)).toMatchObject({ waiting: Infinity });
});
