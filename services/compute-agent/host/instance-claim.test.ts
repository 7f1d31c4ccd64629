import * as fc from 'fast-check';
import { addResources, capacityOf, inventory, type Resources } from '#libs/domain/inventory';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { anOrder } from '../testing/agent-world';
import { judgeBuild, type OwnTruth } from './instance-claim';

const truth = (fields: Partial<OwnTruth> = {}): OwnTruth => ({
  host: 'h1',
  inventories: { VCPU: inventory(4), MEMORY_MB: inventory(4_096) },
  used: {},
  external: {},
  nowMs: 1_000,
  ...fields,
});
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
