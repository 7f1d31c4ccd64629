import { fakeClock } from '../testing/fake-clock';
import { type Log, silentLog } from './log';
import { LINES_PER_SENDER, MAX_SENDERS, senderLog, WINDOW_MS } from './sender-log';

function kept() {
  const lines: object[] = [];
  const keep = (fields: object) => void lines.push(fields);
  const log: Log = { ...silentLog, warn: keep, error: keep };
  const clock = fakeClock();
  return { lines, clock, log: senderLog(log, clock) };
}

const refused = { event: 'message_refused', reason: 'bad_amount' };

it('writes so many lines a minute for each sender, and then how many were left out', async () => {
  const { lines, clock, log } = kept();
  for (let n = 0; n < 1_000; n++) log.warn('project a', refused, 'refused');
  log.warn('project b', refused, 'refused');
  log.warn('project a', { event: 'message_dead_lettered' }, 'dead-lettered');
  expect(lines).toHaveLength(LINES_PER_SENDER + 2);
  await clock.advance(WINDOW_MS);
  log.error('project a', refused, 'refused');
  log.error('project a', refused, 'refused');
  expect(lines.slice(-2)).toEqual([
    { ...refused, sender: 'project a', left_out: 1_000 - LINES_PER_SENDER },
    { ...refused, sender: 'project a' },
  ]);
});

it('counts senders beyond a number together, until others have been quiet for a minute', async () => {
  const { lines, clock, log } = kept();
  for (let n = 0; n < MAX_SENDERS + 50; n++) log.warn(`project ${n}`, refused, 'refused');
  expect(lines).toHaveLength(MAX_SENDERS + LINES_PER_SENDER);
  await clock.advance(WINDOW_MS);
  log.warn('project new', refused, 'refused');
  expect(lines.at(-1)).toEqual({ ...refused, sender: 'project new' });
});
