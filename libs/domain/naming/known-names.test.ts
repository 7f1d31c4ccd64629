import { closestTo, requireResourceClass, requireTrait } from './known-names';

it.each([
  ['VPCU', 'did you mean VCPU?'],
  ['GPU', 'did you mean VGPU?'],
  ['vcpu', 'did you mean VCPU?'],
  ['MEMORY', "there is no resource class 'MEMORY'; one"],
  ['CUSTOM_', "there is no resource class 'CUSTOM_'"],
  ['CUSTOM_a', 'CUSTOM_'],
])('refuses %s as a resource class by the name of the field', (name, said) => {
  expect(() => requireResourceClass(name, 'limits')).toThrow(
    expect.objectContaining({ reason: 'unknown_resource_class', message: expect.stringContaining(said) as string }),
  );
});

it('takes standard names and those of somebody’s own', () => {
  expect(['VCPU', 'CUSTOM_GOLD'].map((one) => requireResourceClass(one, 'limits'))).toEqual(['VCPU', 'CUSTOM_GOLD']);
  expect(requireTrait('HW_CPU_X86_AVX2', 'traits')).toBe('HW_CPU_X86_AVX2');
  expect(() => requireTrait('HW_CPU_X86_AVX3', 'traits')).toThrow('did you mean HW_CPU_X86_AVX');
  expect(() => requireTrait('FAST', 'traits')).toThrow("traits: there is no trait 'FAST'");
});

it('finds the nearest name, and none that is far away', () => {
  expect(closestTo('esat', ['west', 'east'])).toBe('east');
  expect(closestTo('north', ['west', 'east'])).toBeUndefined();
  expect(closestTo('x'.repeat(100_000), ['y'.repeat(64)])).toBeUndefined();
});
