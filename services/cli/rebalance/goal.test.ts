import { type GoalFlags, goalOf, hasGoal, planNameOf } from './goal';

const NONE: GoalFlags = { empty: [], emptyIn: [], admit: [], admitTrait: [], admitProject: 'default', evenOut: false };
const nobody = undefined as unknown as Parameters<typeof goalOf>[0];

it('names a plan by its goal, in whatever order that is said', () => {
  const name = planNameOf({ ...NONE, empty: ['h-1', 'h-2'] });
  expect(name).toMatch(/^empty-[0-9a-f]{8}$/);
  expect(planNameOf({ ...NONE, empty: ['h-2', 'h-1'] })).toBe(name);
  expect(planNameOf({ ...NONE, emptyRack: 'r1' })).toBe(planNameOf({ ...NONE, emptyIn: [['rack', 'r1']] }));
});

it('names plans for other goals otherwise', () => {
  const all = [
    { ...NONE, empty: ['h-1'] },
    { ...NONE, empty: ['h-2'] },
    { ...NONE, emptyIn: [['rack', 'h-1']] as const },
    { ...NONE, admit: [['VCPU', 2]] as const },
    { ...NONE, admit: [['VCPU', 3]] as const },
    { ...NONE, admit: [['VCPU', 3]] as const, admitTrait: ['HW_GPU'] },
    { ...NONE, admitFlavor: 'm1.large' },
    { ...NONE, admitFlavor: 'm1.large', admitZone: 'z1' },
    { ...NONE, evenOut: true },
  ];
  expect(new Set(all.map(planNameOf)).size).toBe(all.length);
});

it('wants one goal', async () => {
  expect(hasGoal(NONE)).toBe(false);
  expect(() => planNameOf(NONE)).toThrow('one goal');
  await expect(goalOf(nobody, { ...NONE, evenOut: true, empty: ['h-1'] })).rejects.toMatchObject({ reason: 'usage' });
  expect(await goalOf(nobody, { ...NONE, empty: ['h-1', 'h-1'] })).toEqual({ kind: 'empty', hosts: ['h-1'] });
});
