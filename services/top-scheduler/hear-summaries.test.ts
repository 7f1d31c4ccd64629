import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import type { Bus } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { cellSummaryEventCodec, describeCellMethod } from '#libs/contracts/cell-methods';
import { SERVICE } from '#libs/contracts/identity';
import { CELL_SUMMARY_TOPIC, RPC_SCHEDULER } from '#libs/contracts/queues';
import type { CellSummary } from '#libs/domain/cells/cell-summary';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { hearSummaries } from './hear-summaries';
import { KnownCell } from './known-cell';

const clock = fakeClock();
const random = seededRandom(3);
const around = () => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
let bus: Bus;
let cell: KnownCell;
let mirror: Mirror;
let asked: { readonly knownDigest: number; readonly listens: boolean }[];
let summary: CellSummary;
let closing: AbortController;
let hearing: Promise<void>;

beforeEach(async () => {
  const broker = new MemoryBroker(clock, silentLog);
  const config = { ...readConfig(busOptions, {}), cell: 'a' };
  bus = new MemoryBus(broker, SERVICE, config, around());
  asked = [];
  const counts = { hostCount: 1, availableCount: 1, instanceCount: 0 };
  const free = { VCPU: { most: 4, total: 4 }, CUSTOM_GPU: { most: 1, total: 1 } };
  const classes = [{ zone: 'nova', hostCount: 1, traits: new Set<string>(), someTraits: new Set<string>(), free }];
  summary = { digest: 1, ...counts, commonTraits: new Set(), classes, refused: [], zones: [], isAbridged: false };
  await bus.serve(RPC_SCHEDULER, {
    ...answer(describeCellMethod, async (request) => {
      asked.push(request);
      return { summary: request.knownDigest === summary.digest ? undefined : summary };
    }),
  });
  cell = new KnownCell(
    new CellLink('a', async () => new MemoryBus(broker, SERVICE, config, around()), around()),
    clock,
  );
  await clock.advance(0);
  const placement = new MemoryPlacementStore();
  mirror = await Mirror.open(placement, around());
  closing = new AbortController();
  const settings = { summaryIntervalMs: 1_000, askTimeoutMs: 1_000 };
  hearing = hearSummaries(cell, { ...around(), placement, mirror, config: settings }, closing.signal);
  await clock.advance(0);
});
afterEach(async () => {
  closing.abort();
  const closed = Promise.all([hearing, mirror.close()]);
  await clock.advance(1_000);
  await closed;
});

/** Sends the events of the cell's schedulers for some seconds. */
async function sends(seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    const event = { digest: summary.digest, summary: n === 0 ? summary : undefined, nextWithinMs: 3_000 };
    const message = { type: cellSummaryEventCodec.type, body: cellSummaryEventCodec.encode(event) };
    await bus.publish(CELL_SUMMARY_TOPIC, message);
    await clock.advance(1_000);
  }
}

it('asks once, says that it listens, and again now and then while summaries are sent', async () => {
  expect(asked).toEqual([{ knownDigest: 0, listens: true }]);
  expect(cell.summary?.digest).toBe(1);
  await sends(60);
  expect(asked.length).toBeGreaterThanOrEqual(5);
  expect(asked.length).toBeLessThanOrEqual(9);
});

it('takes what is sent, and the classes of its hosts', async () => {
  summary = { ...summary, digest: 2, instanceCount: 7 };
  const before = asked.length;
  await sends(3);
  expect(cell.summary).toMatchObject({ digest: 2, instanceCount: 7 });
  expect(asked.length).toBe(before);
  expect(mirror.hasResourceClass('CUSTOM_GPU')).toBe(true);
});

it('asks when one was missed', async () => {
  await sends(3);
  summary = { ...summary, digest: 5, instanceCount: 9 };
  const event = { digest: 5, summary: undefined, nextWithinMs: 3_000 };
  await bus.publish(CELL_SUMMARY_TOPIC, {
    type: cellSummaryEventCodec.type,
    body: cellSummaryEventCodec.encode(event),
  });
  await clock.advance(2_000);
  expect(cell.summary?.digest).toBe(5);
});

it('asks each time a cell that sends nothing, as one of an older version', async () => {
  await clock.advance(20_000);
  expect(asked.length).toBeGreaterThan(12);
});
