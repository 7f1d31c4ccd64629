import { inventory } from '#libs/domain/inventory';
import { processorMs } from '#libs/testing/processor-time';
import { aWorld, uuidOfHost } from '../../../services/scheduler/testing/world';
import type { Bench, BenchContext, Results } from '../harness';

const WHO = { projectId: 'project-1', userId: 'user-1' };
const FLAVORS = [1, 2, 4].map((VCPU) => ({ resources: { VCPU }, ...WHO }));
const RACKS = 20;

/**
 * Cost that a standing guarantee adds to a select: the whole decision with its claim on a store in memory, in one process, one
 * at a time. Fleets with and without one rack guaranteed take turns; figures are medians of the rounds.
 */
export const guaranteeBench: Bench = {
  name: 'guarantee',
  purpose: 'a select with the loss of one rack guaranteed, against the same without: processor time, and their ratio',
  flags: { hosts: '1000', instances: '4000', selects: '2000', rounds: '3' },
  isAlone: true,
  async run(context: BenchContext): Promise<Results> {
    const { flags } = context;
    const [hosts, instances, selects, rounds] = ['hosts', 'instances', 'selects', 'rounds'].map((name) =>
      Number(flags[name] ?? guaranteeBench.flags[name]),
    ) as [number, number, number, number];
    const plain: number[] = [];
    const kept: number[] = [];
    const made: number[] = [];
    for (let round = 0; round < rounds; round++) {
      plain.push((await measure({ hosts, instances, selects }, false)).selectUs);
      const { selectUs, makeMs } = await measure({ hosts, instances, selects }, true);
      kept.push(selectUs);
      made.push(makeMs);
      context.note(
        `round ${round + 1}: ${plain.at(-1)?.toFixed(0)} us without, ${selectUs.toFixed(0)} us with a guarantee`,
      );
    }
    const [without, with_] = [median(plain), median(kept)];
    return {
      select_us: Math.round(without),
      select_guaranteed_us: Math.round(with_),
      guaranteed_to_plain: Number((with_ / without).toFixed(2)),
      witnesses_made_ms: Math.round(median(made)),
    };
  },
};

interface Size {
  readonly hosts: number;
  readonly instances: number;
  readonly selects: number;
}

async function measure({ hosts, instances, selects }: Size, isGuaranteed: boolean) {
  const world = aWorld();
  const { placement, clock } = world;
  const names = Array.from({ length: hosts }, (_, n) => `host-${n}`);
  for (const name of names) await world.report(name, { inventories: { VCPU: inventory(64) } });
  for (let rack = 0; rack < RACKS; rack++) {
    await world.aggregate(`rack-${rack}`, { rack: `r${rack}` }, ...names.filter((_, n) => n % RACKS === rack));
  }
  if (isGuaranteed) {
    const guarantee = {
      name: 'rack',
      lose: 'rack',
      count: 1,
      aggregate: '',
      minPriority: 0,
      policy: 'refuse',
    } as const;
    await placement.commit({ kind: 'write_guarantee', atMs: clock.now(), guarantee });
  }
  const scheduler = await world.scheduler({ hostSubsetSize: 5 });
  const makingSince = process.cpuUsage();
  scheduler.guarantees.bring(clock.now());
  const makeMs = processorMs(makingSince);
  for (let n = 0; n < instances; n++) await scheduler.select(FLAVORS[n % FLAVORS.length]);
  const since = process.cpuUsage();
  let refused = 0;
  for (let n = 0; n < selects; n++) {
    const { response } = await scheduler.select(FLAVORS[n % FLAVORS.length], 1, 2);
    if (response.noValidHost) refused++;
  }
  const selectUs = (processorMs(since) * 1_000) / selects;
  if (refused > 0) throw new Error(`${refused} selects found no host, such as beside ${uuidOfHost('host-0')}`);
  await world.close();
  return { selectUs, makeMs };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
