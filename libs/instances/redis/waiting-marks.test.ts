import { WaitingMarks } from './waiting-marks';

function marksOf(write: (uuid: string) => Promise<void>) {
  const written: string[] = [];
  const marks = new WaitingMarks((uuid, version) => {
    written.push(`${uuid} ${version}`);
    return write(uuid);
  });
  return { marks, written };
}

it('writes marks in order when it is told that a write comes, and once', async () => {
  const { marks, written } = marksOf(async () => {});
  const added = [marks.add('a', 1), marks.add('b', 2)];
  expect(written).toEqual([]);
  marks.flush();
  expect(written).toEqual(['a 1', 'b 2']);
  marks.flush();
  await Promise.all(added);
  expect(written).toHaveLength(2);
});

it('writes a mark by itself when no write comes', async () => {
  const { marks, written } = marksOf(async () => {});
  await marks.add('a', 1);
  await marks.add('a', 2);
  expect(written).toEqual(['a 1', 'a 2']);
});

it('tells each mark how its own write ended', async () => {
  const { marks } = marksOf(async (uuid) => {
    if (uuid === 'a') throw new Error('away');
  });
  const outcomes = Promise.allSettled([marks.add('a', 1), marks.add('b', 1)]);
  marks.flush();
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});
