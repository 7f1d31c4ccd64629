import * as fc from 'fast-check';
import { Journal } from './journal';
import { type Item, type PlacementRules, Witness } from './witness';

interface Box extends Item {
  readonly cpu: number;
  readonly memory: number;
  readonly needsGpu: boolean;
}

interface Load {
  readonly cpu: number;
  readonly memory: number;
  readonly hasGpu: boolean;
}

type Step =
  | { readonly kind: 'add'; readonly n: number; readonly box: Omit<Box, 'key' | 'kind'> }
  | { readonly kind: 'remove'; readonly n: number }
  | { readonly kind: 'host'; readonly host: number; readonly load: Load };

const HOSTS = [0, 1, 2, 3];
const ample = { repairSteps: 1_000, exactSteps: 1_000_000 };

/** At most one of a group on a host. */
class Boxes implements PlacementRules<Box, Load> {
  readonly loads = new Map<number, Load>();
  base = (host: number) => this.loads.get(host);
  hosts = () => HOSTS;
  place({ cpu, memory, needsGpu }: Box, load: Load): Load | undefined {
    if (cpu > load.cpu || memory > load.memory || (needsGpu && !load.hasGpu)) return undefined;
    return { ...load, cpu: load.cpu - cpu, memory: load.memory - memory };
  }
  allowed({ group }: Box, placed: readonly { readonly host: number }[]) {
    if (group === undefined) return undefined;
    const taken = new Set(placed.map(({ host }) => host));
    return (host: number) => !taken.has(host);
  }
}

function isFeasible(items: readonly Box[], rules: Boxes, loads: Map<number, Load>, groups: readonly string[]): boolean {
  const [first, ...rest] = items;
  if (!first) return true;
  return HOSTS.some((host) => {
    const load = loads.get(host);
    const after = load && rules.place(first, load);
    const mark = `${first.group} ${host}`;
    if (!after || (first.group !== undefined && groups.includes(mark))) return false;
    return isFeasible(rest, rules, new Map([...loads, [host, after]]), [...groups, mark]);
  });
}

const size = fc.integer({ min: 0, max: 4 });
const load = fc.record({
  cpu: fc.integer({ min: 0, max: 6 }),
  memory: fc.integer({ min: 0, max: 6 }),
  hasGpu: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      n: fc.nat(6),
      box: fc.record({
        cpu: size,
        memory: size,
        needsGpu: fc.boolean(),
        group: fc.constantFrom(undefined, undefined, 'g'),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), n: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('host' as const), host: fc.constantFrom(...HOSTS), load }) },
);

function take(one: Step, witness: Witness<Box, Load>, rules: Boxes): void {
  if (one.kind === 'remove') return witness.remove(`i${one.n}`);
  if (one.kind === 'add') {
    const { cpu, memory, needsGpu, group } = one.box;
    const kind = group === undefined ? `${cpu} ${memory} ${needsGpu}` : undefined;
    return witness.add({ key: `i${one.n}`, kind, ...one.box });
  }
  rules.loads.set(one.host, one.load);
  witness.rebase(one.host);
  witness.retry();
}

it('is complete exactly when brute force finds an assignment, and always valid', () => {
  const lostHost = 0;
  fc.assert(
    fc.property(fc.array(load, { minLength: 4, maxLength: 4 }), fc.array(step, { maxLength: 14 }), (loads, steps) => {
      const rules = new Boxes();
      for (const [host, one] of loads.entries()) rules.loads.set(host, one);
      const witness = new Witness((host) => host === lostHost, rules, ample);
      for (const one of steps) {
        take(one, witness, rules);
        expect(witness.isValid()).toBe(true);
        const left = new Map([...rules.loads].filter(([host]) => host !== lostHost));
        const exists = isFeasible([...witness.items.values()], rules, left, []);
        expect(witness.unplaced.size === 0).toBe(exists);
      }
    }),
    { numRuns: 2_000 },
  );
});

it('stands as it was when what was tried is taken back', () => {
  fc.assert(
    fc.property(
      fc.array(load, { minLength: 4, maxLength: 4 }),
      fc.array(step, { maxLength: 10 }),
      fc.array(step, { minLength: 1, maxLength: 4 }),
      (loads, before, tried) => {
        const rules = new Boxes();
        for (const [host, one] of loads.entries()) rules.loads.set(host, one);
        const journal = new Journal();
        const witness = new Witness((host) => host === 0, rules, { repairSteps: 20, exactSteps: 50 }, journal);
        for (const one of before) take(one, witness, rules);
        journal.keep();
        const shown = () => [
          [...witness.places()].map(({ item: { key }, host }) => `${key} on ${host}`).sort(),
          [...witness.items.keys()].sort(),
          [...witness.unplaced].map(([key, why]) => `${key} ${why}`).sort(),
        ];
        const [was, loadsBefore] = [shown(), new Map(rules.loads)];
        for (const one of tried) take(one, witness, rules);
        journal.rollBack();
        for (const [host, one] of loadsBefore) rules.loads.set(host, one);
        expect(shown()).toEqual(was);
        expect(witness.isValid()).toBe(true);
      },
    ),
    { numRuns: 1_000 },
  );
});
