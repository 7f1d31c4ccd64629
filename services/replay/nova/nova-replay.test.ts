import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { aWorld, instance, type NodeFields, uuidOf } from '../../nova-scheduler/testing/world';
import { explainPast, exportRecord, importRecord, parseWhatIf, verifyRecord } from '../main';
import { entriesOf, segmentsOf } from '../records';
import { NovaReplay } from './nova-replay';

/* Recorded decisions for Nova, made again, and as they would have been. */

type World = Awaited<ReturnType<typeof aWorld>>;

let folder: string;
let world: World;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-nova-record-'));
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

async function recording(nodes: readonly NodeFields[], work: () => Promise<unknown>, settings = {}): Promise<void> {
  world = await aWorld(nodes, settings);
  const recorder = await world.record(folder);
  await work();
  await recorder.close();
}

const asked = (...numbers: readonly number[]) => ({ instance_uuids: numbers.map(instance) });
const SMALL = { VCPU: inventory(4), MEMORY_MB: inventory(2_048), DISK_GB: inventory(50) };

async function verified() {
  const counts = { made: 0, different: 0 };
  for await (const { count, different } of verifyRecord(folder)) {
    counts.made += count;
    counts.different += different.length;
  }
  return counts;
}

it('makes each decision again, also on facts and claims that came in between', async () => {
  await recording([{}, { inventories: SMALL }, {}], async () => {
    expect(await world.hosts({}, asked(1, 2))).toHaveLength(2);
    world.facts.setServices([{ host: 'h1', isUp: false, isDisabled: false }], world.clock.elapsed());
    await world.refusal({}, asked(3));
    world.facts.noteEnabled('h1');
    world.facts.setServices(
      ['h1', 'h2'].map((host) => ({ host, isUp: true, isDisabled: false })),
      world.clock.elapsed(),
    );
    world.facts.putInstances('h1', [instance(50)], false);
    world.facts.putAggregates([
      { id: 1, uuid: 'a', hosts: new Set(['h2']), metadata: new Map([['cpu_weight_multiplier', '-5']]) },
    ]);
    await Promise.all([world.hosts({}, asked(4)), world.hosts({ vcpus: 2 }, asked(5)), world.hosts({}, asked(6))]);
  });
  expect(await verified()).toEqual({ made: 5, different: 0 });
});

it('tells of a decision that comes out otherwise', async () => {
  await recording([{}, {}], async () => world.hosts({}, asked(1)));
  const [first] = segmentsOf(folder);
  const entries = [...entriesOf(first ?? { path: '' })].map((entry) =>
    (entry.kind as string) === 'nova_decide' ? { ...entry, outcome: { kind: 'refused' } } : entry,
  );
  const replay = await NovaReplay.open(entries as never);
  const again = [];
  for (const entry of replay?.decisions() ?? []) again.push(await replay?.again(entry));
  expect(again).toMatchObject([{ isSame: false, outcome: { kind: 'decided' } }]);
  await replay?.close();
});

it('explains a decision with all hosts as they were, and as it would have been', async () => {
  const nodes = [{}, { inventories: SMALL }, { isUp: false }, { inventories: {} }];
  await recording(nodes, async () => world.hosts({}, asked(1)));
  const explain = (...changes: readonly string[]) =>
    explainPast(folder, { uuid: instance(1), changes: changes.map(parseWhatIf), horizon: 10 });
  const past = await explain();
  expect(past).toMatchObject({ isSame: true, outcome: { kind: 'decided', destinations: [{ host: 'h1' }] } });
  expect(past.hosts.map(({ host, passed, refusals }) => [host, passed, ...refusals])).toEqual([
    ['h1', true],
    ['h2', true],
    ['h3', false, 'ComputeFilter: its nova-compute is down'],
    ['h4', false, expect.stringMatching(/^placement: /)],
  ]);
  expect(past.diagnosis?.summary).toBe('2 of 4 hosts pass');
  const hostWith = async (change: string) => {
    const { instead } = await explain(change);
    return instead?.outcome.kind === 'decided' ? instead.outcome.destinations[0]?.host : instead?.outcome.kind;
  };
  expect(await hostWith('weight=ram:-9')).toBe('h2');
  expect(await hostWith('host-down=h1')).toBe('h2');
  expect((await explain('host-up=h3')).instead?.diagnosis?.hostsPassed).toBe(3);
  expect((await explain('without-filter=ComputeFilter')).instead?.diagnosis?.hostsPassed).toBe(3);
  expect(await hostWith('BERTH_NOVA_WEIGHT_RAM=-9')).toBe('h2');
  await expect(explain('BERTH_SCHEDULER_PREFETCH=1')).rejects.toMatchObject({ reason: 'bad_what_if' });
  await expect(explain('host-up=h9')).rejects.toMatchObject({ reason: 'no_such_host' });
  await expect(explain('without-filter=JsonFilter')).rejects.toMatchObject({ reason: 'no_such_filter' });
});

it('goes into another folder, under its own names only', async () => {
  await recording([{}], async () => world.hosts({}, asked(1)));
  const file = join(folder, 'report.gz');
  const options = { sinceMs: 0, untilMs: Number.POSITIVE_INFINITY, anonymize: false };
  await expect(exportRecord(folder, file, { ...options, anonymize: true })).rejects.toMatchObject({
    reason: 'nova_record',
  });
  await exportRecord(folder, file, options);
  const other = join(folder, 'other');
  await importRecord(file, other);
  const counts = [];
  for await (const { count, different } of verifyRecord(other)) counts.push([count, different.length]);
  expect(counts).toEqual([[1, 0]]);
});

it('makes decisions of random histories again', async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('select' as const),
      count: fc.integer({ min: 1, max: 3 }),
      vcpus: fc.integer({ min: 1, max: 6 }),
    }),
    fc.record({ kind: fc.constant('service' as const), host: fc.constantFrom('h1', 'h2', 'h3'), isUp: fc.boolean() }),
    fc.record({ kind: fc.constant('provider' as const), total: fc.integer({ min: 1, max: 64 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const own = mkdtempSync(join(tmpdir(), 'berth-nova-record-'));
      world = await aWorld([{}, { inventories: SMALL }, {}], { BERTH_NOVA_SHUFFLE_BEST_SAME_WEIGHED_HOSTS: 'true' });
      const recorder = await world.record(own);
      let n = 0;
      for (const one of steps) {
        if (one.kind === 'select') {
          const numbers = Array.from({ length: one.count }, () => ++n);
          await Promise.all([
            world.refusal({ vcpus: one.vcpus }, asked(...numbers)),
            world.refusal({ vcpus: one.vcpus }, asked(++n)),
          ]);
        } else if (one.kind === 'service') {
          const up = (host: string) => host !== one.host || one.isUp;
          world.facts.setServices(
            ['h1', 'h2', 'h3'].map((host) => ({ host, isUp: up(host), isDisabled: false })),
            world.clock.elapsed(),
          );
        } else {
          const inventories = { VCPU: inventory(one.total), MEMORY_MB: inventory(2_048), DISK_GB: inventory(50) };
          const fields = { providerUuid: uuidOf(1), generation: undefined, inventories, replace: true };
          await world.commit({ kind: 'write_inventories', ...fields }).catch(() => {});
        }
      }
      await recorder.close();
      let made = 0;
      for await (const { count, different } of verifyRecord(own)) {
        made += count;
        expect(different).toEqual([]);
      }
      expect(made).toBeGreaterThanOrEqual(steps.filter(({ kind }) => kind === 'select').length);
      await world.close();
      rmSync(own, { recursive: true });
    }),
    { numRuns: 60, seed: 35 },
  );
});
