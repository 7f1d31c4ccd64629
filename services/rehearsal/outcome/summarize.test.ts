import { holds, parseCondition } from './condition';
import type { FleetUse, Outcome } from './outcome';
import { summarize } from './summarize';

const USE: FleetUse = { hosts: 1, capacity: {}, used: {}, largestFree: {}, quotas: [] };

function anOutcome(seed: number, fields: Partial<Outcome> = {}): Outcome {
  const counts = { moved: 0, built: 0, retries: 0, preempted: 0, waiting: 0, failed: 0, unplaced: 0, stepCount: 0 };
  const use = { before: USE, after: USE };
  return { seed, tookMs: 1_000, isOver: true, ...counts, refused: [], ...use, broken: [], arrivalsMs: [], ...fields };
}

const refusal = (uuid: string) => ({ uuid, name: uuid, resources: { VCPU: 1 }, why: 'no host fits' });

it('tells each number as a distribution, and shows the rehearsal that took the median time', () => {
  const outcomes = [3, 1, 2].map((n) => anOutcome(n, { tookMs: n * 1_000, moved: n, arrivalsMs: [n * 10] }));
  const { metrics, timeline, rehearsals } = summarize(outcomes);
  expect(rehearsals).toBe(3);
  expect(metrics.seconds).toEqual({ least: 1, median: 2, p95: 3, most: 3 });
  expect(metrics.moved).toEqual({ least: 1, median: 2, p95: 3, most: 3 });
  expect(timeline).toEqual([[0.02, 1]]);
});

it('names what was refused, the most often first, and what is broken with its seeds', () => {
  const { refused, broken } = summarize([
    anOutcome(1, { refused: [refusal('a')], broken: ['claims'] }),
    anOutcome(2, { refused: [refusal('b'), refusal('a')] }),
    anOutcome(3, { broken: ['claims'] }),
  ]);
  expect(refused.map(({ uuid, times }) => [uuid, times])).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
  expect(broken).toEqual([{ what: 'claims', seeds: [1, 3] }]);
});

it.each([
  ['refused > 0', true],
  ['refused > 1', false],
  ['seconds>=1.5', true],
  ['moved < 1', true],
  ['moved <= 0', true],
  ['unfinished > 0', false],
])('says whether %s in any of them', (text, expected) => {
  const summary = summarize([anOutcome(1), anOutcome(2, { refused: [refusal('a')], tookMs: 1_500, moved: 4 })]);
  const condition = parseCondition(text);
  expect(condition && holds(condition, summary)).toBe(expected);
});

it.each(['refusal > 0', 'refused = 0', 'refused > -1', 'refused >', '> 0', 'refused > 0 and moved > 1'])(
  'takes %s for no condition',
  (text) => expect(parseCondition(text)).toBeUndefined(),
);
