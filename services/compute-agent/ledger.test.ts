import * as fc from 'fast-check';
import { addResources, type Resources } from '#libs/domain/inventory';
import { aBuild } from './agent-world';
import { carriedAs } from './builds';
import { type Carried, createLedger } from './ledger';

it('always holds the sum of what it carries', () => {
  const step = fc.record({
    uuid: fc.constantFrom('a', 'b', 'c', 'd'),
    state: fc.constantFrom<Carried['state'] | 'gone'>('building', 'running', 'destroying', 'gone'),
    amount: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const ledger = createLedger();
      const model = new Map<string, Carried>();
      for (const { uuid, state, amount } of steps) {
        if (state === 'gone') {
          ledger.remove(uuid);
          model.delete(uuid);
        } else {
          const carried = { ...carriedAs(aBuild(), state), uuid, resources: { VCPU: amount } };
          ledger.put(carried);
          model.set(uuid, carried);
        }
      }
      const sum = [...model.values()].reduce<Resources>((all, { resources }) => addResources(all, resources), {
        VCPU: 0,
      });
      expect({ VCPU: 0, ...ledger.used() }).toEqual(sum);
      expect(new Set(ledger.all())).toEqual(new Set(model.values()));
      for (const state of ['building', 'running', 'destroying'] as const) {
        expect(ledger.count(state)).toBe([...model.values()].filter((one) => one.state === state).length);
      }
    }),
  );
});
