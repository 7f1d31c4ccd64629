import { aggregateUuid, claimOf, type Forest, openForest, type ProviderSketch } from '../../testing/placement/forest';
import { type Need, RootColumns } from './root-columns';

let forest: Forest;
let columns: RootColumns;

afterEach(async () => {
  columns.close();
  await forest.close();
});

async function plant(...providers: ProviderSketch[]): Promise<void> {
  forest = await openForest(providers);
  columns = new RootColumns(forest.view);
}

function roots(needs: readonly Need[], seed?: number): string[] {
  return [...columns.roots(needs, seed)].map(forest.nameOf);
}

const vcpus = (atLeast: number): Need => ({ kind: 'class', of: ['VCPU'], atLeast });
const hosts = [
  { name: 'cn1', has: { VCPU: 4 }, traits: ['HW_CPU_X86_AVX'] },
  { name: 'cn2', has: { VCPU: { total: 8, reserved: 2, allocationRatio: 2, maxUnit: 9 } }, in: ['A'] },
  { name: 'cn3' },
  { name: 'cn3a', parent: 'cn3', has: { VCPU: 6 }, traits: ['HW_NUMA_ROOT'], in: ['B'] },
];

it('tells which trees have so much of a class at one provider', async () => {
  await plant(...hosts);
  expect(roots([vcpus(1)])).toEqual(['cn1', 'cn2', 'cn3']);
  expect(roots([vcpus(5)])).toEqual(['cn2', 'cn3']);
  expect(roots([vcpus(9)])).toEqual(['cn2']);
  expect(roots([vcpus(10)])).toEqual([]);
});

it('tells which trees have one of some traits or are in one of some aggregates', async () => {
  await plant(...hosts);
  expect(roots([{ kind: 'trait', of: ['HW_CPU_X86_AVX', 'HW_NUMA_ROOT'], atLeast: 1 }])).toEqual(['cn1', 'cn3']);
  expect(roots([{ kind: 'aggregate', of: ['A', 'B'].map(aggregateUuid), atLeast: 1 }, vcpus(7)])).toEqual(['cn2']);
});

it('follows claims, new providers, labels, moves and deletions', async () => {
  await plant(...hosts);
  expect(roots([vcpus(4)])).toEqual(['cn1', 'cn2', 'cn3']);
  await forest.commit(claimOf('c', { [forest.uuidOf('cn1')]: { VCPU: 1 } }));
  expect(roots([vcpus(4)])).toEqual(['cn2', 'cn3']);
  await forest.commit(claimOf('c', {}));
  expect(roots([vcpus(4)])).toEqual(['cn1', 'cn2', 'cn3']);
  const uuid = aggregateUuid('Z');
  await forest.commit({ kind: 'put_provider', uuid, name: 'cn4', parentUuid: undefined, mode: 'create' });
  const trait: Need = { kind: 'trait', of: ['HW_NUMA_ROOT'], atLeast: 1 };
  expect(roots([trait])).toEqual(['cn3']);
  const traits = { kind: 'write_traits', providerUuid: uuid, generation: undefined, traits: ['HW_NUMA_ROOT'] } as const;
  await forest.commit(traits);
  expect(roots([trait])).toEqual(['cn3', uuid]);
  await forest.commit({ ...traits, traits: [] });
  const name = 'cn3a';
  await forest.commit({ kind: 'put_provider', uuid: forest.uuidOf(name), name, parentUuid: uuid, mode: 'update' });
  expect(roots([trait])).toEqual([uuid]);
  await forest.commit({ kind: 'delete_provider', uuid: forest.uuidOf('cn1') });
  expect(roots([vcpus(4)])).toEqual([uuid, 'cn2']);
});

it('visits every tree once, in an order for each seed', async () => {
  await plant(...Array.from({ length: 30 }, (_, i) => ({ name: `cn${i}`, has: { VCPU: 1 } })));
  const ordered = roots([vcpus(1)]);
  expect(ordered).toHaveLength(30);
  expect([...roots([vcpus(1)], 5)].sort()).toEqual([...ordered].sort());
  expect(roots([vcpus(1)], 5)).toEqual(roots([vcpus(1)], 5));
  expect(roots([vcpus(1)], 5)).not.toEqual(roots([vcpus(1)], 6));
});

it('is right though more columns are asked for than it keeps', async () => {
  await plant(...hosts);
  for (let i = 0; i < 300; i++) expect(roots([{ kind: 'trait', of: [`CUSTOM_${i}`], atLeast: 1 }])).toEqual([]);
  expect(roots([vcpus(9)])).toEqual(['cn2']);
});
