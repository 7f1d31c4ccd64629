import * as fc from 'fast-check';
import { capacityWanted, type HostShape, shapesOf, type WaitingInstance } from './capacity-wanted';

const waiting = (resources: Record<string, number>, rest: Partial<WaitingInstance> = {}): WaitingInstance => {
  return { resources, requiredTraits: [], forbiddenTraits: [], waitsFor: ['capacity_vcpu'], ...rest };
};
const shape = (like: string, capacity: Record<string, number>, traits: readonly string[] = []): HostShape => {
  return { like, capacity, traits };
};

it('says how many more hosts of a shape would serve what waits', () => {
  const eight = Array.from({ length: 5 }, () => waiting({ VCPU: 3, MEMORY_MB: 100 }));
  const small = shape('h1', { VCPU: 8, MEMORY_MB: 1_000 });
  expect(capacityWanted(eight, [small])).toEqual([{ shape: small, hosts: 3, serves: 5 }]);
});

it('puts first the shape that serves most, then that of which fewest are needed', () => {
  const some = [waiting({ VCPU: 2 }), waiting({ VCPU: 2 }), waiting({ VCPU: 16 })];
  const [small, large, huge] = [shape('s', { VCPU: 4 }), shape('l', { VCPU: 16 }), shape('x', { VCPU: 64 })];
  const found = capacityWanted(some, [small, large, huge]);
  expect(found.map(({ shape: { like }, hosts, serves }) => [like, hosts, serves])).toEqual([
    ['x', 1, 3],
    ['l', 2, 3],
    ['s', 1, 2],
  ]);
});

it('counts neither what no host would help, nor what the shape can not hold', () => {
  const host = shape('h1', { VCPU: 8 }, ['HW_GPU']);
  const found = capacityWanted(
    [
      waiting({ VCPU: 1 }, { waitsFor: ['quota_exceeded'] }),
      waiting({ VCPU: 9 }),
      waiting({ CUSTOM_FPGA: 1 }),
      waiting({ VCPU: 1 }, { requiredTraits: ['HW_NIC'] }),
      waiting({ VCPU: 1 }, { forbiddenTraits: ['HW_GPU'] }),
      waiting({ VCPU: 1 }, { requiredTraits: ['HW_GPU'], waitsFor: [] }),
    ],
    [host],
  );
  expect(found).toEqual([{ shape: host, hosts: 1, serves: 1 }]);
});

it('never puts more into its hosts than they have, and serves all that fit', () => {
  const amounts = fc.record({ VCPU: fc.integer({ min: 1, max: 10 }), MEMORY_MB: fc.integer({ min: 1, max: 10 }) });
  fc.assert(
    fc.property(fc.array(amounts, { maxLength: 40 }), (all) => {
      const host = shape('h1', { VCPU: 8, MEMORY_MB: 8 });
      const fitting = all.filter(({ VCPU, MEMORY_MB }) => VCPU <= 8 && MEMORY_MB <= 8);
      const [found] = capacityWanted(
        all.map((one) => waiting(one)),
        [host],
      );
      const sum = (name: 'VCPU' | 'MEMORY_MB') => fitting.reduce((total, one) => total + one[name], 0);
      const least = Math.max(Math.ceil(sum('VCPU') / 8), Math.ceil(sum('MEMORY_MB') / 8));
      expect(found?.serves ?? 0).toBe(fitting.length);
      expect(found?.hosts ?? 0).toBeGreaterThanOrEqual(least);
      expect(found?.hosts ?? 0).toBeLessThanOrEqual(fitting.length);
    }),
  );
});

it('takes hosts that have the same for one shape', () => {
  const found = shapesOf([
    shape('b', { VCPU: 8, MEMORY_MB: 1 }),
    shape('a', { MEMORY_MB: 1, VCPU: 8 }),
    shape('c', { VCPU: 4 }),
  ]);
  expect(found.map(({ like }) => like)).toEqual(['a', 'c']);
});
