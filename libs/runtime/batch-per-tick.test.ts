import { BerthError } from '../domain/errors';
import { batchPerTick } from './batch-per-tick';

/** Doubles numbers in runs of any size; a run that includes 13 throws. */
function doubler(error: BerthError) {
  const runs: number[][] = [];
  const double = batchPerTick<number, number>(
    100,
    () => 1,
    async (numbers) => {
      runs.push([...numbers]);
      if (numbers.includes(13)) throw error;
      return numbers.map((n) => 2 * n);
    },
  );
  return { runs, double };
}

it('fails only the call that brought in the defect', async () => {
  const { runs, double } = doubler(new BerthError('internal', 'store_reply', 'bad'));
  const answers = await Promise.allSettled([1, 13, 3].map(double));
  expect(answers.map((one) => (one.status === 'fulfilled' ? one.value : 'failed'))).toEqual([2, 'failed', 6]);
  expect(runs).toEqual([[1, 13, 3], [1], [13], [3]]);
});

it('fails all calls, once, when the outcome is unknown', async () => {
  const { runs, double } = doubler(new BerthError('unavailable', 'outcome_unknown', 'gone'));
  const answers = await Promise.allSettled([1, 13, 3].map(double));
  expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
  expect(runs).toEqual([[1, 13, 3]]);
});
