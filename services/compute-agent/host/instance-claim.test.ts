import * as fc from 'fast-check';
import type { Allocations } from '#libs/domain/consumer';
import { addResources, capacityOf, type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { NestedCapacity } from '../drivers/driver';
import { anOrder } from '../testing/agent-world';
import { judgeBuild, type OwnTruth } from './instance-claim';
import { claimedByName, ownProviders } from './own-providers';

const ROOT = 'a0000000-0000-8000-8000-000000000001';
const INVENTORIES = { VCPU: inventory(4), MEMORY_MB: inventory(4_096) };

/** A host with these amounts on its root, and some nested providers. */
function truth({
  inventories = INVENTORIES,
  nested = [],
  used = {},
  external = {},
}: {
  readonly inventories?: Inventories;
  readonly nested?: readonly NestedCapacity[];
  readonly used?: Resources;
  readonly external?: Resources;
} = {}): OwnTruth {
  return {
    host: 'h1',
    providers: ownProviders(ROOT, { inventories, nested, traits: [], capabilities: {} }),
    usedOn: (uuid) => (uuid === ROOT ? used : {}),
    external: new Map([['', external]]),
    nowMs: 1_000,
  };
}
const asking = (resources: Resources) => anOrder({ requestSpec: aRequestSpec({ resources }) });

it('never accepts more than total less reserved and external, times ratio', () => {
  const amount = fc.integer({ min: 0, max: 64 });
  const scene = fc.record({
    total: fc.integer({ min: 1, max: 64 }),
    reserved: amount,
    external: amount,
    allocationRatio: fc.constantFrom(0.5, 1, 1.5, 16),
    asked: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 50 }),
  });
  fc.assert(
    fc.property(scene, ({ total, reserved, external, allocationRatio, asked }) => {
      const inv = inventory(total, { reserved: Math.min(total, reserved), allocationRatio });
      const room = capacityOf({ ...inv, reserved: Math.min(total, inv.reserved + external) });
      let used: Resources = {};
      for (const VCPU of asked) {
        const judgement = judgeBuild(
          asking({ VCPU }),
          undefined,
          false,
          truth({ inventories: { VCPU: inv }, used, external: { VCPU: external } }),
        );
        const fits = (used['VCPU'] ?? 0) + VCPU <= room;
        expect(judgement.kind).toBe(fits ? 'build' : 'refuse');
        if (judgement.kind === 'build') used = addResources(used, { VCPU });
      }
      expect(used['VCPU'] ?? 0).toBeLessThanOrEqual(room);
    }),
  );
});

it('names the class and the rule that a request breaks', () => {
  const inventories = { CUSTOM_GPU: inventory(8, { minUnit: 2, maxUnit: 4, stepSize: 2 }) };
  const reasonFor = (CUSTOM_GPU: number, used = 0) => {
    const judgement = judgeBuild(
      asking({ CUSTOM_GPU }),
      undefined,
      false,
      truth({ inventories, used: { CUSTOM_GPU: used } }),
    );
    return judgement.kind === 'refuse' ? judgement.reason : judgement.kind;
  };
  expect(reasonFor(1)).toBe('min_unit_custom_gpu');
  expect(reasonFor(6)).toBe('max_unit_custom_gpu');
  expect(reasonFor(3)).toBe('step_size_custom_gpu');
  expect(reasonFor(4, 6)).toBe('insufficient_custom_gpu');
  expect(reasonFor(4, 4)).toBe('build');
});

it('does not refuse classes that the host has no inventory of', () => {
  expect(judgeBuild(asking({ VCPU: 1, DISK_GB: 10 }), undefined, false, truth()).kind).toBe('build');
});

it('refuses everything of a class whose total is 0', () => {
  const judgement = judgeBuild(
    asking({ CUSTOM_GOLD: 1 }),
    undefined,
    false,
    truth({ inventories: { CUSTOM_GOLD: inventory(0) } }),
  );
  expect(judgement).toMatchObject({ kind: 'refuse', reason: 'insufficient_custom_gold' });
});

it('counts granular groups, too', () => {
  const group = {
    suffix: '1',
    resources: { VCPU: 3 },
    requiredTraits: [],
    forbiddenTraits: [],
    memberOf: [],
    forbiddenAggregates: [],
    inTree: undefined,
  };
  const requestSpec = aRequestSpec({ resources: { VCPU: 2 }, requestGroups: [group] });
  const order = anOrder({ requestSpec });
  expect(order.resources).toEqual({ VCPU: 5 });
  expect(judgeBuild(order, undefined, false, truth()).kind).toBe('refuse');
});

describe('an order that says what was claimed', () => {
  const nested = [
    { name: 'numa0', parent: '', inventories: { VCPU: inventory(2) }, traits: [] },
    { name: 'gpu0', parent: 'numa0', inventories: { VGPU: inventory(4) }, traits: [] },
  ];
  const [NUMA0, GPU0, GPU1] = ['numa0', 'gpu0', 'gpu1'].map((name) => nestedProviderUuid(ROOT, name)) as [
    string,
    string,
    string,
  ];
  const SHARED = 'c0000000-0000-4000-8000-000000000001';
  const capacity = { inventories: { MEMORY_MB: inventory(4_096) }, nested, traits: [], capabilities: {} };
  const judge = (allocations: Allocations, usedOn: OwnTruth['usedOn'] = () => ({}), external = new Map()) => {
    const own = { ...truth(), providers: ownProviders(ROOT, capacity), usedOn, external };
    const judgement = judgeBuild(anOrder({ allocations }), undefined, false, own);
    return judgement.kind === 'refuse' ? judgement.reason : judgement.kind;
  };

  it('is built where each of its providers has room', () => {
    expect(judge({ [ROOT]: { MEMORY_MB: 64 }, [NUMA0]: { VCPU: 2 }, [GPU0]: { VGPU: 4 } })).toBe('build');
    expect(judge({ [NUMA0]: { VCPU: 3 } })).toBe('insufficient_vcpu');
    expect(judge({ [NUMA0]: { VCPU: 1 } }, (uuid) => (uuid === NUMA0 ? { VCPU: 2 } : {}))).toBe('insufficient_vcpu');
    expect(judge({ [NUMA0]: { VCPU: 1 } }, (uuid) => (uuid === GPU0 ? { VCPU: 2 } : {}))).toBe('build');
    expect(judge({ [NUMA0]: { VCPU: 1 } }, () => ({}), new Map([['numa0', { VCPU: 2 }]]))).toBe('insufficient_vcpu');
  });

  it('is refused when a device of the host is gone, and leaves to the store what others share with it', () => {
    expect(judge({ [NUMA0]: { VCPU: 1 }, [GPU1]: { VGPU: 1 } })).toBe('provider_gone');
    expect(judge({ [NUMA0]: { VCPU: 1 }, [SHARED]: { DISK_GB: 10 } })).toBe('build');
  });

  it('leaves to the store the classes that operators gave a provider', () => {
    expect(judge({ [ROOT]: { MEMORY_MB: 64, CUSTOM_LICENSE: 1 } })).toBe('build');
  });

  it('counts all of it, whatever the request requires', () => {
    const order = anOrder({ allocations: { [NUMA0]: { VCPU: 1 }, [GPU0]: { VGPU: 1 }, [SHARED]: { DISK_GB: 5 } } });
    expect(order.resources).toEqual({ VCPU: 1, VGPU: 1, DISK_GB: 5 });
  });

  it('gives the driver its own providers by name, and fails for one that went meanwhile', () => {
    const allocations = { [ROOT]: { MEMORY_MB: 64 }, [GPU0]: { VGPU: 1 }, [SHARED]: { DISK_GB: 5 } };
    const mappings = { '': [ROOT, SHARED], _gpu: [GPU0] };
    expect(claimedByName(ROOT, capacity, { allocations, mappings })).toEqual({
      claimed: { '': { MEMORY_MB: 64 }, gpu0: { VGPU: 1 } },
      mappings: { '': [''], _gpu: ['gpu0'] },
    });
    expect(() => claimedByName(ROOT, { ...capacity, nested: [] }, { allocations, mappings })).toThrow(
      expect.objectContaining({ reason: 'provider_gone' }),
    );
  });
});
