import { seededRandom } from '#libs/domain/random';
import { fakeClock } from '#libs/testing/fake-clock';
import type { BerthEnd, StartBerth } from './berth-process';
import { rehearsalLine } from './command-line';
import { Rehearsals } from './rehearsals';

const LINE = rehearsalLine({ operation: 'drain', hosts: 'h-1' });
const REPORT: BerthEnd = { code: 0, out: '{"title":"Drain h-1"}', err: '', isTooLong: false };
const STOPPED: BerthEnd = { code: undefined, out: '', err: '', isTooLong: false };

/** Rehearsals whose processes end when the test says so, or when they are stopped. */
function world(maxRehearsals = 2) {
  const clock = fakeClock();
  const children: { end: (end: BerthEnd) => void; progress: (done: number, all: number) => void }[] = [];
  const berth: StartBerth = (_line, progress) => {
    let end: (end: BerthEnd) => void = () => {};
    const ended = new Promise<BerthEnd>((resolve) => {
      end = resolve;
    });
    children.push({ end, progress });
    return { ended, stop: () => end(STOPPED) };
  };
  const rehearsals = new Rehearsals({ clock, random: seededRandom(1), berth, maxRehearsals });
  const over = (state: string) =>
    new Promise<void>((resolve) => {
      const stop = rehearsals.onChange(() => {
        if (!rehearsals.list().some((row) => row.state === state && row.endedAtMs !== undefined)) return;
        stop();
        resolve();
      });
    });
  return { clock, children, rehearsals, over };
}

it('shows how far a rehearsal is, and keeps its report', async () => {
  const { rehearsals, children, over } = world();
  rehearsals.start('ann', LINE);
  expect(rehearsals.list()).toMatchObject([{ userId: 'ann', line: 'berth rehearse drain -- h-1', state: 'running' }]);
  children[0]?.progress(3, 20);
  expect(rehearsals.list()).toMatchObject([{ done: 3, all: 20, state: 'running' }]);
  const id = rehearsals.list()[0]?.id ?? '';
  expect(() => rehearsals.report(id)).toThrow(expect.objectContaining({ reason: 'no_such_rehearsal' }));
  const done = over('done');
  children[0]?.end(REPORT);
  await done;
  expect(rehearsals.report(id)).toBe(REPORT.out);
});

it('runs one for each user at once, and so many in all', async () => {
  const { rehearsals, children, over } = world(2);
  rehearsals.start('ann', LINE);
  expect(() => rehearsals.start('ann', LINE)).toThrow(expect.objectContaining({ reason: 'rehearsing' }));
  rehearsals.start('bob', LINE);
  expect(() => rehearsals.start('cid', LINE)).toThrow(expect.objectContaining({ reason: 'too_many_rehearsals' }));
  const done = over('done');
  children[0]?.end(REPORT);
  await done;
  rehearsals.start('ann', LINE);
  expect(rehearsals.list().map(({ userId, state }) => [userId, state])).toEqual([
    ['ann', 'running'],
    ['bob', 'running'],
    ['ann', 'done'],
  ]);
  await rehearsals.close();
});

it('ends one that is cancelled, and one that takes too long', async () => {
  const { rehearsals, clock, over } = world();
  rehearsals.start('ann', LINE);
  const cancelled = over('cancelled');
  rehearsals.cancel(rehearsals.list()[0]?.id ?? '');
  await cancelled;
  rehearsals.start('ann', LINE);
  const failed = over('failed');
  await clock.advance(15 * 60_000);
  await failed;
  expect(rehearsals.list()[0]).toMatchObject({ state: 'failed', problem: { reason: 'rehearsal_timeout' } });
});

it.each<[string, Partial<BerthEnd>, object]>([
  [
    'a refusal',
    { code: 2, err: 'berth: no host is in all of these aggregates (not_found/no_such_host)\nhint: look\n' },
    { code: 'not_found', reason: 'no_such_host', message: 'no host is in all of these aggregates' },
  ],
  [
    'a wrong flag',
    { code: 2, err: 'berth: unknown option\n' },
    { reason: 'rehearsal_failed', message: 'unknown option' },
  ],
  ['a crash', { code: 134, err: 'FATAL: heap\n' }, { message: 'the process ended without a report: FATAL: heap' }],
  ['a report that is too long', { code: undefined, isTooLong: true }, { reason: 'report_too_long' }],
])('tells %s', async (_what, end, problem) => {
  const { rehearsals, children, over } = world();
  rehearsals.start('ann', LINE);
  const failed = over('failed');
  children[0]?.end({ ...STOPPED, ...end });
  await failed;
  expect(rehearsals.list()).toMatchObject([{ state: 'failed', problem }]);
});

it('keeps the report of one whose invariants are broken, and those of the last eight', async () => {
  const { rehearsals, children } = world();
  const ids: string[] = [];
  for (let n = 0; n < 10; n++) {
    rehearsals.start('ann', LINE);
    const id = rehearsals.list()[0]?.id ?? '';
    ids.push(id);
    const ended = new Promise<void>((resolve) => {
      const stop = rehearsals.onChange(() => {
        stop();
        resolve();
      });
    });
    children[n]?.end({ ...REPORT, code: 1 });
    await ended;
  }
  await rehearsals.close();
  expect(rehearsals.list().map(({ id }) => id)).toEqual(ids.slice(2).toReversed());
});

it('starts none where it may not', () => {
  const { rehearsals } = world(0);
  expect(() => rehearsals.start('ann', LINE)).toThrow(expect.objectContaining({ reason: 'no_rehearsals' }));
  expect(rehearsals.max).toBe(0);
});
