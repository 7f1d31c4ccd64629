import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { answer } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { SERVICE } from '#libs/contracts/identity';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { listUsageMethod } from '#libs/contracts/quotas';
import { seededRandom } from '#libs/domain/random';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { KnownCell } from './known-cell';
import { usageOfCells } from './usage-of-cells';

const asked = { projectId: '', sinceMs: 0, untilMs: 0, marker: '', limit: 50, by: [], shareMarker: '' };
const config = { maxAsked: 1, askTimeoutMs: 1_000, refusalMs: 0 };

const held = (vcpu: number) => ({
  projects: [{ projectId: 'p', days: [{ day: '2026-11-01', unitSeconds: { VCPU: vcpu } }] }],
  shares: [],
  nextMarker: '',
});

it('is the sum of all cells, and refused while one of them does not tell', async () => {
  const clock = fakeClock();
  const around = () => ({ clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) });
  const broker = new MemoryBroker(clock, silentLog);
  const busOf = (cell: string) => new MemoryBus(broker, SERVICE, { ...readConfig(busOptions, {}), cell }, around());
  const buses = { a: busOf('a'), b: busOf('b') };
  const cells = new Map<string, KnownCell>();
  for (const cell of ['a', 'b'] as const) {
    const link = new CellLink(cell, async () => buses[cell], around());
    await clock.advance(0);
    cells.set(cell, new KnownCell(link, clock));
  }
  await buses.a.serve(
    RPC_SCHEDULER,
    answer(listUsageMethod, async () => held(2)),
  );
  await expect(usageOfCells(asked, { cells, config })).rejects.toMatchObject({
    code: 'unavailable',
    reason: 'cell_not_asked',
    details: { cell: 'b' },
  });
  await buses.b.serve(
    RPC_SCHEDULER,
    answer(listUsageMethod, async () => held(3)),
  );
  expect((await usageOfCells(asked, { cells, config })).projects).toEqual(held(5).projects);
});
