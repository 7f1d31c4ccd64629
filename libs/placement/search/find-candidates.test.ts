import { SHARING_TRAIT } from '../../domain/provider';
import { aGroup, aQuery, linesOf } from '../../testing/placement/candidates';
import { aggregateUuid, claimOf, type Forest, openForest, type ProviderSketch } from '../../testing/placement/forest';
import { keyOf } from './candidate';
import { findCandidates, findCandidatesInTurns } from './find-candidates';
import { KeptCandidates } from './kept-candidates';
import type { CandidateQuery, SearchOptions } from './query';

let forest: Forest;

afterEach(() => forest.close());

async function plant(...providers: ProviderSketch[]): Promise<void> {
  forest = await openForest(providers);
}

function find(query: CandidateQuery, options?: SearchOptions): string[] {
  return linesOf(findCandidates(forest.view, query, options).candidates, forest.nameOf);
}

function mappingsOf(query: CandidateQuery): Record<string, string[]>[] {
  return findCandidates(forest.view, query).candidates.map(({ mappings }) =>
    Object.fromEntries(Object.entries(mappings).map(([suffix, uuids]) => [suffix, uuids.map(forest.nameOf).sort()])),
  );
}

it('leaves out a node of bare metal of which somebody has another class', async () => {
  await plant(
    { name: 'n1', has: { CUSTOM_BAREMETAL_GOLD: 1, CUSTOM_BAREMETAL_SILVER: 1 }, used: { CUSTOM_BAREMETAL_GOLD: 1 } },
    { name: 'n2', has: { CUSTOM_BAREMETAL_SILVER: 1 } },
  );
  expect(find(aQuery([aGroup('', { CUSTOM_BAREMETAL_SILVER: 1 })]))).toEqual(['n2 CUSTOM_BAREMETAL_SILVER:1']);
});

describe('with flat hosts', () => {
  beforeEach(() =>
    plant(
      { name: 'cn1', has: { VCPU: 8, MEMORY_MB: 1024 }, traits: ['HW_CPU_X86_AVX'], in: ['A'] },
      { name: 'cn2', has: { VCPU: 8, MEMORY_MB: 2048 }, traits: ['HW_CPU_X86_SSE'], in: ['A', 'B'] },
      { name: 'cn3', has: { VCPU: { total: 4, maxUnit: 2, minUnit: 2 }, MEMORY_MB: 4096 }, used: { VCPU: 2 } },
    ),
  );

  it('finds each that has all classes', () => {
    expect(find(aQuery([aGroup('', { VCPU: 2, MEMORY_MB: 512 })]))).toEqual([
      'cn1 MEMORY_MB:512 VCPU:2',
      'cn2 MEMORY_MB:512 VCPU:2',
      'cn3 MEMORY_MB:512 VCPU:2',
    ]);
  });

  it('leaves out what is full, too small or not in the units asked for', async () => {
    expect(find(aQuery([aGroup('', { VCPU: 1 })]))).toEqual(['cn1 VCPU:1', 'cn2 VCPU:1']);
    expect(find(aQuery([aGroup('', { VCPU: 1, MEMORY_MB: 2000 })]))).toEqual(['cn2 MEMORY_MB:2000 VCPU:1']);
    await forest.commit(claimOf('c1', { [forest.uuidOf('cn1')]: { VCPU: 8 } }));
    expect(find(aQuery([aGroup('', { VCPU: 1 })]))).toEqual(['cn2 VCPU:1']);
  });

  it.each([
    ['required', { requiredTraits: [['HW_CPU_X86_AVX']] }, ['cn1']],
    ['any of', { requiredTraits: [['HW_CPU_X86_AVX', 'HW_CPU_X86_SSE']] }, ['cn1', 'cn2']],
    ['forbidden', { forbiddenTraits: ['HW_CPU_X86_AVX'] }, ['cn2', 'cn3']],
    ['in both aggregates', { memberOf: [['A'], ['B']].map((names) => names.map(aggregateUuid)) }, ['cn2']],
    ['in either aggregate', { memberOf: [['A', 'B'].map(aggregateUuid)] }, ['cn1', 'cn2']],
    ['not in an aggregate', { forbiddenAggregates: [aggregateUuid('A')] }, ['cn3']],
    ['a trait that no provider has', { requiredTraits: [['CUSTOM_NOBODY']] }, []],
  ])('takes only those described: %s', (_what, fields, names) => {
    const lines = find(aQuery([aGroup('', { MEMORY_MB: 1 }, fields)]));
    expect(lines).toEqual(names.map((name) => `${name} MEMORY_MB:1`));
    expect(find(aQuery([aGroup('_1', { MEMORY_MB: 1 }, fields)]))).toEqual(lines);
  });

  it('takes only roots with the traits that roots must have', () => {
    expect(find(aQuery([aGroup('', { VCPU: 2 })], { rootRequiredTraits: ['HW_CPU_X86_SSE'] }))).toEqual(['cn2 VCPU:2']);
    expect(find(aQuery([aGroup('', { VCPU: 2 })], { rootForbiddenTraits: ['HW_CPU_X86_SSE'] }))).toEqual([
      'cn1 VCPU:2',
      'cn3 VCPU:2',
    ]);
  });

  it('adds up what several groups take from one provider, within its capacity and max_unit', () => {
    const groups = [aGroup('_1', { VCPU: 2 }), aGroup('_2', { VCPU: 6 })];
    expect(find(aQuery(groups))).toEqual(['cn1 VCPU:8', 'cn2 VCPU:8']);
    expect(find(aQuery(groups, { groupPolicy: 'isolate' }))).toEqual([]);
  });

  it('finds nothing in a tree that does not exist', () => {
    expect(find(aQuery([aGroup('', { VCPU: 2 }, { inTree: aggregateUuid('A') })]))).toEqual([]);
  });
});

describe('with disks shared through an aggregate', () => {
  const disk = (name: string, ...traits: string[]): ProviderSketch => ({
    name,
    has: { DISK_GB: 1000 },
    traits: [SHARING_TRAIT, ...traits],
    in: ['A'],
  });

  beforeEach(() =>
    plant(
      { name: 'cn1', has: { VCPU: 8 }, in: ['A'] },
      { name: 'cn2', has: { VCPU: 8, DISK_GB: 100 }, in: ['A', 'B'] },
      { name: 'cn3', has: { VCPU: 8 } },
      disk('ss1', 'STORAGE_DISK_SSD'),
      disk('ss2'),
    ),
  );

  it('spreads a group over a host and what is shared with it', () => {
    expect(find(aQuery([aGroup('', { VCPU: 1, DISK_GB: 10 })]))).toEqual([
      'cn1 VCPU:1 + ss1 DISK_GB:10',
      'cn1 VCPU:1 + ss2 DISK_GB:10',
      'cn2 DISK_GB:10 VCPU:1',
      'cn2 VCPU:1 + ss1 DISK_GB:10',
      'cn2 VCPU:1 + ss2 DISK_GB:10',
    ]);
  });

  it('finds a required trait on any provider that the group uses', () => {
    const group = aGroup('', { VCPU: 1, DISK_GB: 10 }, { requiredTraits: [['STORAGE_DISK_SSD']] });
    expect(find(aQuery([group]))).toEqual(['cn1 VCPU:1 + ss1 DISK_GB:10', 'cn2 VCPU:1 + ss1 DISK_GB:10']);
  });

  it('says the same candidate once, though several trees have it', () => {
    expect(find(aQuery([aGroup('', { DISK_GB: 10 })]))).toEqual(['cn2 DISK_GB:10', 'ss1 DISK_GB:10', 'ss2 DISK_GB:10']);
  });

  it('pairs a shared disk with each host when they are groups of their own', () => {
    const groups = [aGroup('', { VCPU: 1 }), aGroup('_D', { DISK_GB: 10 }, { inTree: forest.uuidOf('ss1') })];
    expect(find(aQuery(groups))).toEqual(['cn1 VCPU:1 + ss1 DISK_GB:10', 'cn2 VCPU:1 + ss1 DISK_GB:10']);
  });

  it('wants the sharing provider itself in the aggregate', () => {
    const group = aGroup('', { VCPU: 1, DISK_GB: 10 }, { memberOf: [[aggregateUuid('B')]] });
    expect(find(aQuery([group]))).toEqual(['cn2 DISK_GB:10 VCPU:1']);
  });

  it('stays in a tree that is asked for', () => {
    const group = aGroup('', { VCPU: 1, DISK_GB: 10 }, { inTree: forest.uuidOf('cn2') });
    expect(find(aQuery([group]))).toEqual(['cn2 DISK_GB:10 VCPU:1']);
  });
});

describe('with NUMA nodes and devices', () => {
  beforeEach(() =>
    plant(
      { name: 'cn', has: { DISK_GB: 100 }, in: ['A'] },
      ...['n0', 'n1'].flatMap((numa, i): ProviderSketch[] => [
        { name: numa, parent: 'cn', has: { VCPU: 4, MEMORY_MB: 4096 }, traits: ['HW_NUMA_ROOT'] },
        ...['a', 'b'].map((port, j) => ({
          name: `${numa}${port}`,
          parent: numa,
          has: { SRIOV_NET_VF: 2, NET_BW_EGR_KILOBIT_PER_SEC: 1000 * (i + 1) },
          traits: [`CUSTOM_PHYSNET_${j}`],
        })),
      ]),
    ),
  );

  const compute = aGroup('_CPU', { VCPU: 2, MEMORY_MB: 1024 });
  const port = aGroup(
    '_NIC',
    { SRIOV_NET_VF: 1, NET_BW_EGR_KILOBIT_PER_SEC: 1000 },
    { requiredTraits: [['CUSTOM_PHYSNET_0']] },
  );

  it('spreads the group without a suffix over the tree, class by class', () => {
    expect(find(aQuery([aGroup('', { VCPU: 4, MEMORY_MB: 1024 })]))).toEqual([
      'n0 MEMORY_MB:1024 + n1 VCPU:4',
      'n0 MEMORY_MB:1024 VCPU:4',
      'n0 VCPU:4 + n1 MEMORY_MB:1024',
      'n1 MEMORY_MB:1024 VCPU:4',
    ]);
  });

  it('knows only one provider of each tree for clients that do not know of trees', () => {
    const query = aQuery([aGroup('', { VCPU: 4, MEMORY_MB: 1024 })]);
    const { candidates } = findCandidates(forest.view, query, { nestedAware: false });
    expect(linesOf(candidates, forest.nameOf)).toEqual(['n0 MEMORY_MB:1024 VCPU:4', 'n1 MEMORY_MB:1024 VCPU:4']);
  });

  it('keeps groups of a subtree together', () => {
    expect(find(aQuery([compute, port]))).toHaveLength(4);
    expect(find(aQuery([compute, port], { sameSubtrees: [['_CPU', '_NIC']] }))).toEqual([
      'n0 MEMORY_MB:1024 VCPU:2 + n0a NET_BW_EGR_KILOBIT_PER_SEC:1000 SRIOV_NET_VF:1',
      'n1 MEMORY_MB:1024 VCPU:2 + n1a NET_BW_EGR_KILOBIT_PER_SEC:1000 SRIOV_NET_VF:1',
    ]);
  });

  it('lets a group without resources stand for the provider above others', () => {
    const numa = aGroup('_NUMA', {}, { requiredTraits: [['HW_NUMA_ROOT']] });
    const ports = [port, aGroup('_NIC2', { SRIOV_NET_VF: 1 }, { requiredTraits: [['CUSTOM_PHYSNET_1']] })];
    const query = aQuery([numa, ...ports], { sameSubtrees: [['_NUMA', '_NIC', '_NIC2']], groupPolicy: 'isolate' });
    expect(mappingsOf(query)).toEqual([
      { _NUMA: ['n0'], _NIC: ['n0a'], _NIC2: ['n0b'] },
      { _NUMA: ['n1'], _NIC: ['n1a'], _NIC2: ['n1b'] },
    ]);
  });

  it('counts the aggregates of the root for the whole tree, but not for a group with a suffix', () => {
    const fields = { memberOf: [[aggregateUuid('A')]] };
    expect(find(aQuery([aGroup('', { VCPU: 1 }, fields)]))).toEqual(['n0 VCPU:1', 'n1 VCPU:1']);
    expect(find(aQuery([aGroup('_1', { VCPU: 1 }, fields)]))).toEqual([]);
    const forbidden = { forbiddenAggregates: [aggregateUuid('A')] };
    expect(find(aQuery([aGroup('', { VCPU: 1 }, forbidden)]))).toEqual([]);
    expect(find(aQuery([aGroup('_1', { VCPU: 1 }, forbidden)]))).toEqual(['n0 VCPU:1', 'n1 VCPU:1']);
  });

  it('leaves out swaps of symmetric devices and groups when only distinct candidates are asked for', () => {
    const bandwidth = { NET_BW_EGR_KILOBIT_PER_SEC: 1000 };
    const query = aQuery([aGroup('_1', bandwidth), aGroup('_2', bandwidth)], { groupPolicy: 'isolate' });
    expect(find(query)).toHaveLength(12);
    // Both under n0, one under each, both under n1.
    expect(find(query, { symmetry: 'distinct' })).toHaveLength(3);
  });
});

describe('with bandwidth on physical networks', () => {
  const bandwidth = (name: string, agent: string, network: number, kilobits: number): ProviderSketch => ({
    name,
    parent: agent,
    has: { NET_BW_EGR_KILOBIT_PER_SEC: kilobits },
    traits: [`CUSTOM_PHYSNET_${network}`, agent === 'ovs' ? 'CUSTOM_VNIC_NORMAL' : 'CUSTOM_VNIC_DIRECT'],
  });

  beforeEach(() =>
    plant(
      { name: 'cn', has: { VCPU: 8 } },
      { name: 'ovs', parent: 'cn' },
      bandwidth('br0', 'ovs', 0, 1000),
      bandwidth('br1', 'ovs', 1, 1000),
      { name: 'sriov', parent: 'cn' },
      bandwidth('eth0', 'sriov', 0, 10_000),
      bandwidth('eth1', 'sriov', 1, 10_000),
    ),
  );

  const port = (suffix: string, kilobits: number, ...requiredTraits: string[][]) =>
    aGroup(suffix, { NET_BW_EGR_KILOBIT_PER_SEC: kilobits }, { requiredTraits });

  it('gives each port the bandwidth of its network and kind', () => {
    const groups = [
      aGroup('', { VCPU: 1 }),
      port('_P1', 600, ['CUSTOM_PHYSNET_0'], ['CUSTOM_VNIC_NORMAL']),
      port('_P2', 600, ['CUSTOM_PHYSNET_1'], ['CUSTOM_VNIC_DIRECT']),
    ];
    expect(mappingsOf(aQuery(groups))).toEqual([{ '': ['cn'], _P1: ['br0'], _P2: ['eth1'] }]);
  });

  it('lets a network of several segments be on any of them, as far as there is capacity', () => {
    const segments = ['CUSTOM_PHYSNET_0', 'CUSTOM_PHYSNET_1'];
    const ports = ['_P1', '_P2', '_P3'].map((suffix) => port(suffix, 600, segments, ['CUSTOM_VNIC_NORMAL']));
    expect(mappingsOf(aQuery(ports.slice(0, 2)))).toEqual([
      { _P1: ['br0'], _P2: ['br1'] },
      { _P1: ['br1'], _P2: ['br0'] },
    ]);
    expect(find(aQuery(ports))).toEqual([]);
  });
});

describe('with many hosts', () => {
  const hosts = Array.from({ length: 20 }, (_, i): ProviderSketch[] => [
    { name: `cn${i}`, has: { VCPU: 8 } },
    { name: `cn${i}a`, parent: `cn${i}`, has: { SRIOV_NET_VF: 1 } },
    { name: `cn${i}b`, parent: `cn${i}`, has: { SRIOV_NET_VF: 1 } },
  ]);
  const query = aQuery([aGroup('', { VCPU: 1 }), aGroup('_1', { SRIOV_NET_VF: 1 })]);

  beforeEach(() => plant(...hosts.flat()));

  it('gives one candidate of each root before a second of any', () => {
    const result = findCandidates(forest.view, query, { limit: 25 });
    expect(result.isComplete).toBe(false);
    const roots = result.candidates.map(({ rootUuid }) => rootUuid);
    expect(new Set(roots.slice(0, 20)).size).toBe(20);
    expect(new Set(roots.slice(20)).size).toBe(5);
  });

  it('says when it has found all', () => {
    const result = findCandidates(forest.view, query);
    expect(result).toMatchObject({ isComplete: true });
    expect(result.candidates).toHaveLength(40);
  });

  it('goes on with trees whose search was let go between turns', async () => {
    await forest.close();
    await plant(...Array.from({ length: 5 }, (_, i) => hosts.flat().map((p) => renamed(p, `_${i}`))).flat());
    const { candidates } = findCandidates(forest.view, query, { limit: 150 });
    expect(new Set(candidates.slice(0, 100).map(({ rootUuid }) => rootUuid)).size).toBe(100);
    expect(new Set(candidates.map(keyOf)).size).toBe(150);
    expect(findCandidates(forest.view, query)).toMatchObject({ isComplete: true, candidates: { length: 200 } });
  });

  it('has an order for each seed, the same every time', () => {
    const order = (seed: number) => findCandidates(forest.view, query, { seed }).candidates.map((c) => c.rootUuid);
    expect(order(1)).toEqual(order(1));
    expect(order(1)).not.toEqual(order(2));
    expect([...order(1)].sort()).toEqual([...order(2)].sort());
  });
});

function renamed({ name, parent, ...rest }: ProviderSketch, suffix: string): ProviderSketch {
  return { name: name + suffix, ...(parent === undefined ? {} : { parent: parent + suffix }), ...rest };
}

describe('in turns', () => {
  const manyGroups = aQuery(Array.from({ length: 60 }, (_, i) => aGroup(`_${i}`, { SRIOV_NET_VF: 1 })));
  const trees = Array.from({ length: 4 }, (_, tree) => [
    { name: `cn${tree}`, has: { VCPU: 8 } },
    ...Array.from({ length: 60 }, (_none, i) => ({
      name: `pf${tree}-${i}`,
      parent: `cn${tree}`,
      has: { SRIOV_NET_VF: 2 },
    })),
  ]).flat();

  /** Turns of so many steps, trees and candidates. */
  function turnsOf(length: number, onPause: () => Promise<unknown> = async () => {}) {
    let [passed, pauses] = [0, 0];
    return {
      pauses: () => pauses,
      isPauseDue: () => ++passed > length,
      async pause() {
        [passed, pauses] = [0, pauses + 1];
        await onPause();
      },
    };
  }

  it('finds the same, and lets others have their turn', async () => {
    await plant(...trees);
    const options = { limit: 400 };
    const turns = turnsOf(100);
    const found = await findCandidatesInTurns(forest.view, manyGroups, options, turns);
    expect(found).toEqual(findCandidates(forest.view, manyGroups, options));
    expect(found.candidates).toHaveLength(400);
    expect(turns.pauses()).toBeGreaterThan(6);
  });

  it.each([
    ['hosts without anything below', Array.from({ length: 500 }, (_, n) => ({ name: `h${n}`, has: { VCPU: 8 } }))],
    ['trees that have one candidate each', trees.map((one) => ({ ...one, has: { VCPU: 8 } })).slice(0, 4 * 61)],
  ])('lets others have their turn among %s', async (_, sketches) => {
    await plant(...sketches);
    const turns = turnsOf(1);
    const found = await findCandidatesInTurns(forest.view, aQuery([aGroup('', { VCPU: 1 })]), {}, turns);
    expect(turns.pauses()).toBeGreaterThanOrEqual(Math.floor(found.candidates.length / 2));
  });

  it('counts what large trees cost of which nothing fits', async () => {
    const without = trees.map((one) => ('parent' in one ? { ...one, has: { SRIOV_NET_VF: 1 } } : one));
    await plant(...without);
    const tooMany = aQuery([...manyGroups.groups, aGroup('_more', { SRIOV_NET_VF: 1 })]);
    const found = findCandidates(forest.view, tooMany);
    expect(found).toMatchObject({ candidates: [], isComplete: true });
    expect(found.steps).toBeGreaterThanOrEqual(4 * 200);
  });

  it('keeps nothing that a change in a pause may have made old', async () => {
    await plant(...trees);
    const kept = new KeptCandidates(forest.view);
    const options = { limit: 400 };
    let isClaimed = false;
    const pause = async () => {
      if (isClaimed) return;
      isClaimed = true;
      await forest.commit(claimOf('c1', { [forest.uuidOf('pf0-0')]: { SRIOV_NET_VF: 2 } }));
      await forest.commit(claimOf('c2', { [forest.uuidOf('pf3-0')]: { SRIOV_NET_VF: 2 } }));
    };
    await findCandidatesInTurns(forest.view, manyGroups, options, { kept, ...turnsOf(100, pause) });
    expect(isClaimed).toBe(true);
    const after = findCandidates(forest.view, manyGroups, { limit: 4 }, { kept });
    expect(after.candidates).toEqual(findCandidates(forest.view, manyGroups, { limit: 4 }).candidates);
    kept.close();
  });
});
