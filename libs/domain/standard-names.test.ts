import { isClassOrTraitName } from './names';
import { SHARING_TRAIT } from './provider';
import {
  compareNames,
  isStandardResourceClass,
  isStandardTrait,
  namesIn,
  STANDARD_RESOURCE_CLASSES,
  STANDARD_TRAITS,
} from './standard-names';

it.each([
  ['resource classes', STANDARD_RESOURCE_CLASSES],
  ['traits', STANDARD_TRAITS],
])('keeps each of the standard %s once, well formed and not custom', (_what, names) => {
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !isClassOrTraitName(name) || name.startsWith('CUSTOM_'))).toEqual([]);
});

it('numbers resource classes as Placement does', () => {
  expect(STANDARD_RESOURCE_CLASSES.slice(0, 3)).toEqual(['VCPU', 'MEMORY_MB', 'DISK_GB']);
  expect(STANDARD_RESOURCE_CLASSES.indexOf('PCPU')).toBe(14);
  expect(STANDARD_RESOURCE_CLASSES).toHaveLength(21);
});

it('knows what is standard and what is not', () => {
  expect(isStandardTrait(SHARING_TRAIT)).toBe(true);
  expect(isStandardTrait('CUSTOM_GOLD')).toBe(false);
  expect(isStandardResourceClass('VCPU')).toBe(true);
  expect(isStandardResourceClass('MCPU')).toBe(false);
});

it('tells what a given list has that we lack, and the other way round', () => {
  const given = namesIn('B\n\n  C # with a remark\n# D\n');
  expect(compareNames(['A', 'B'], given)).toEqual({ missing: ['C'], extra: ['A'] });
});
