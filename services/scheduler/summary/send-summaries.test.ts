import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { type CellSummaryEvent, cellSummaryEventCodec, LISTENING_MS } from '#libs/contracts/cell-methods';
import { CELL_SUMMARY_TOPIC } from '#libs/contracts/queues';
import type { CellSummary } from '#libs/domain/cells/cell-summary';
import { seededRandom } from '#libs/domain/random';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { summarySender } from './send-summaries';

const clock = fakeClock();
const random = seededRandom(3);
const around = () => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
const closing = new AbortController();
let buses: Bus[];
let heard: CellSummaryEvent[];
let summary: CellSummary;
let made: number;

beforeEach(async () => {
  const broker = new MemoryBroker(clock, silentLog);
  buses = await Promise.all([1, 2, 3].map(() => openBus({ busUrl: 'memory:' }, around(), broker)));
  heard = [];
  made = 0;
  const counts = { hostCount: 1, availableCount: 1, instanceCount: 0 };
  summary = { digest: 1, ...counts, commonTraits: new Set(), classes: [], refused: [], zones: [], isAbridged: false };
  await buses[0]?.subscribe(CELL_SUMMARY_TOPIC, (_topic, { body }) => heard.push(cellSummaryEventCodec.decode(body)));
});
afterAll(() => closing.abort());

/** A scheduler of the cell. */
function sender(bus: Bus | undefined, signal = closing.signal): () => void {
  if (!bus) throw new Error('there is no bus');
  const newest = () => {
    made += 1;
    return summary;
  };
  const config = { summaryIntervalMs: 1_000 };
  return summarySender({ bus, summaries: { newest }, config, clock, random, log: silentLog }, signal);
}

it('sends nothing, and makes nothing, while nobody listens', async () => {
  sender(buses[1]);
  await clock.advance(10_000);
  expect([heard.length, made]).toEqual([0, 0]);
});

it('sends at most one in an interval for as long as somebody listens, and in whole when it has changed', async () => {
  sender(buses[1])();
  await clock.advance(10_000);
  summary = { ...summary, digest: 2, instanceCount: 5 };
  await clock.advance(10_000);
  expect(heard.length).toBeGreaterThanOrEqual(13);
  expect(heard.length).toBeLessThanOrEqual(20);
  const whole = heard.filter((event) => event.summary !== undefined);
  expect(whole.map(({ digest }) => digest)).toEqual([1, 2]);
  await clock.advance(LISTENING_MS);
  const count = heard.length;
  await clock.advance(LISTENING_MS);
  expect(heard.length).toBe(count);
});

it('schedulers that were asked all send no more together, and one goes on for another', async () => {
  const dying = new AbortController();
  sender(buses[1], dying.signal)();
  sender(buses[2])();
  await clock.advance(10_000);
  expect(heard.length).toBeLessThanOrEqual(10);
  dying.abort();
  const count = heard.length;
  await clock.advance(10_000);
  expect(heard.length - count).toBeGreaterThanOrEqual(6);
});
