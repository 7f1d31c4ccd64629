import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { fakeClock } from '#libs/testing/fake-clock';
import { aStatsReport, running } from '../../testing/stats';
import { hearingOf, lossKeeper } from './heard-in-full';

const LOST_UP_TO_MS = 10_000;
const NOW_MS = 20_000;
const WITH_REQUESTS = [running('instance-1', { allocationRequest: Uint8Array.of(1) })];
const WITHOUT_REQUESTS = [running('instance-1')];

interface Case {
  /** By the last report that conductors worked on; undefined: the store has no such host. */
  readonly heardInFullAtMs?: number;
  /** By the report before this one. */
  readonly heardAtMs?: number;
  readonly upToMs?: number;
  readonly stats?: Partial<UpdateResourceStatsRequest>;
}

function hear({ heardInFullAtMs, heardAtMs, upToMs = LOST_UP_TO_MS, stats = {} }: Case) {
  const report = aStatsReport({ sequence: 5, instances: WITH_REQUESTS, ...stats });
  const view = { host: () => (heardInFullAtMs === undefined ? undefined : { heardInFullAtMs }) };
  const heard = new Map(heardAtMs === undefined ? [] : [[report.host, heardAtMs]]);
  return hearingOf(report, view, { heardAt: async () => heard }, { upToMs, nowMs: NOW_MS });
}

const NOT_OWED = { isOwed: false, saidAfterMs: 0 };
const NOT_YET = { isOwed: true, saidAfterMs: 0 };

it.each<[string, Case, object]>([
  ['no store was lost', { upToMs: 0 }, NOT_OWED],
  ['conductors heard the host after the loss', { heardInFullAtMs: 10_001 }, NOT_OWED],
  ['conductors heard it before', { heardInFullAtMs: 10_000, stats: { answeredAtMs: 9_000 } }, NOT_YET],
  ['the store has lost the host', { stats: { answeredAtMs: 9_000 } }, NOT_YET],
  ['the report was under way at the loss', { stats: { answeredAtMs: 10_000 } }, NOT_YET],
  ['it was made after the loss', { stats: { answeredAtMs: 10_001 } }, { isOwed: true, saidAfterMs: 10_001 }],
  ['it shows no allocation requests', { stats: { answeredAtMs: 10_001, instances: WITHOUT_REQUESTS } }, NOT_YET],
  [
    'the agent has none to show, and was asked long enough',
    { stats: { answeredAtMs: 12_001, instances: WITHOUT_REQUESTS } },
    { isOwed: true, saidAfterMs: 12_001 },
  ],
  ['nothing runs there', { stats: { answeredAtMs: 10_001, instances: [] } }, { isOwed: true, saidAfterMs: 10_001 }],
  ['it claims a time to come', { stats: { answeredAtMs: 99_000 } }, { isOwed: true, saidAfterMs: NOW_MS }],
  ['an older agent was last heard before the loss', { heardAtMs: 9_000 }, NOT_YET],
  ['an older agent was heard after it', { heardAtMs: 11_000 }, { isOwed: true, saidAfterMs: 11_000 }],
  ['it is the first of a run', { heardAtMs: 11_000, stats: { sequence: 1 } }, NOT_YET],
])('says what a report is worth when %s', async (_, given, expected) => {
  expect(await hear(given)).toEqual(expected);
});

it('asks once a second up to when writes were lost, and again at once when the store was away', async () => {
  const clock = fakeClock();
  const jumps = [[5_000_000, 7_000_000]] as const;
  const identity = { birthId: 'a', bornAtMs: 0, revision: 1, nowMs: undefined, jumps };
  const identify = jest.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(identity);
  const lossUpTo = lossKeeper({ identify }, clock);
  await expect(lossUpTo()).rejects.toThrow('away');
  expect(await lossUpTo()).toBe(7_000);
  expect(await lossUpTo()).toBe(7_000);
  expect(identify).toHaveBeenCalledTimes(2);
  await clock.advance(1_000);
  await lossUpTo();
  expect(identify).toHaveBeenCalledTimes(3);
});
