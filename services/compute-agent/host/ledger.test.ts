import * as fc from 'fast-check';
import { addResources, type Resources } from '#libs/domain/inventory';
import { anOrder } from '../testing/agent-world';
import { trackedInstance } from './build-order';
import { createLedger } from './ledger';
import type { TrackedInstance } from './tracked-instance';

it('always holds the sum of what it tracks', () => {
  const step = fc.record({
    uuid: fc.constantFrom('a', 'b', 'c', 'd'),
    state: fc.constantFrom<TrackedInstance['state'] | 'gone'>('building', 'running', 'destroying', 'gone'),
    amount: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const ledger = createLedger('root');
      const model = new Map<string, TrackedInstance>();
      for (const { uuid, state, amount } of steps) {
        if (state === 'gone') {
          ledger.remove(uuid);
          model.delete(uuid);
        } else {
          const tracked = { ...trackedInstance(anOrder(), state), uuid, resources: { VCPU: amount } };
          ledger.put(tracked);
          model.set(uuid, tracked);
        }
      }
      const sum = [...model.values()].reduce<Resources>((all, { resources }) => addResources(all, resources), {
        VCPU: 0,
      });
      expect({ VCPU: 0, ...ledger.usedOn('root') }).toEqual(sum);
      expect(new Set(ledger.all())).toEqual(new Set(model.values()));
      for (const state of ['building', 'running', 'destroying'] as const) {
        expect(ledger.count(state)).toBe([...model.values()].filter((one) => one.state === state).length);
      }
    }),
  );
});
