import { addResources, capacityOf, inventory, refusalOf } from './inventory';

describe('refusalOf', () => {
  const inv = inventory(10, { reserved: 2, allocationRatio: 1.5, minUnit: 2, maxUnit: 8, stepSize: 2 });

  it('takes amounts up to (total - reserved) * ratio', () => {
    expect(capacityOf(inv)).toBe(12);
    expect(refusalOf(inv, 4, 8)).toBeUndefined();
    expect(refusalOf(inv, 6, 8)).toBe('capacity');
  });

  it.each([
    [1, 'min_unit'],
    [10, 'max_unit'],
    [3, 'step_size'],
  ])('refuses %i because of %s', (amount, refusal) => {
    expect(refusalOf(inv, 0, amount)).toBe(refusal);
  });
});

it('adds resources class by class', () => {
  expect(addResources({ VCPU: 1 }, { VCPU: 2, DISK_GB: 5 })).toEqual({ VCPU: 3, DISK_GB: 5 });
});
