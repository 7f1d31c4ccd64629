import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { GROUP_POLICIES } from '#libs/domain/server-group';
import { segmentsOf } from '#libs/flight-record/record-folder';
import { readSegment } from '#libs/flight-record/segment-file';
import type { FlightEntry } from '../scheduler/flight/entries';
import { histories, specs } from '../scheduler/testing/arbitrary-fleet';
import { aWorld, type TestScheduler, type World } from '../scheduler/testing/world';
import { Replay, type Replayed } from './replay';

const groups = fc.option(
  fc.record({ id: fc.constant('g'), policy: fc.constantFrom(...GROUP_POLICIES), maxPerHost: fc.nat(2) }),
  {
    nil: undefined,
  },
);
const requests = fc.record({ spec: specs, group: groups, count: fc.integer({ min: 1, max: 3 }), minCount: fc.nat(1) });
const steps = fc.oneof(
  requests.map((request) => ({ kind: 'select' as const, request })),
  histories(3).map((history) => ({ kind: 'history' as const, history })),
  fc
    .oneof(fc.integer({ min: 1, max: 1_500 }), fc.integer({ min: 1, max: 90_000 }))
    .map((ms) => ({ kind: 'time' as const, ms })),
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

async function perform(step: Step, world: World, scheduler: TestScheduler): Promise<void> {
  if (step.kind === 'time') return world.clock.advance(step.ms);
  if (step.kind === 'history') {
    for (const happening of step.history) await happening.run(world);
    return scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  }
  const { spec, group, count, minCount } = step.request;
  // A request that is refused on entry makes no decision.
  const one = () =>
    scheduler.select({ ...spec, group }, count, 2, { minCount, mayPreempt: true, priority: 1 }).catch(() => {});
  await Promise.all([one(), one()]);
}

async function replayAll(folder: string): Promise<readonly Replayed[]> {
  const all: Replayed[] = [];
  for (const { path } of segmentsOf(folder)) {
    const replay = await Replay.open(readSegment(path) as Iterable<FlightEntry>);
    for (const entry of replay?.decisions() ?? []) if (replay) all.push(replay.again(entry));
    await replay?.close();
  }
  return all;
}

it('makes every recorded decision again as it was, over random histories, groups, prices and claims on their way', async () => {
  let count = 0;
  const config = fc.constantFrom({ hostSubsetSize: 3 }, { hostSubsetSize: 1, profile: 'headroom' as const });
  await fc.assert(
    fc.asyncProperty(
      histories(25),
      fc.array(steps, { minLength: 2, maxLength: 20 }),
      config,
      async (before, after, settings) => {
        const folder = mkdtempSync(join(tmpdir(), 'berth-record-'));
        const world = aWorld();
        try {
          const scheduler = await world.scheduler(settings);
          for (const happening of before) await happening.run(world);
          await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
          const half = Math.floor(after.length / 2);
          for (const step of after.slice(0, half)) await perform(step, world, scheduler);
          const recorder = await scheduler.record(folder);
          await world.clock.advance(10);
          for (const step of after.slice(half)) await perform(step, world, scheduler);
          await recorder.close();
          const replayed = await replayAll(folder);
          count += replayed.length;
          expect(
            replayed.filter(({ isSame }) => !isSame).map(({ entry, outcome }) => [entry.outcome, outcome]),
          ).toEqual([]);
        } finally {
          await world.close();
          rmSync(folder, { recursive: true });
        }
      },
    ),
    { numRuns: 100 },
  );
  expect(count).toBeGreaterThan(100);
});
