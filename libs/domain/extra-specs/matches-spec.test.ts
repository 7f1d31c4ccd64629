import { matchesSpec } from './matches-spec';

it.each([
  ['true', 'true', true],
  ['true', 'TRUE', false],
  ['10', '= 8', true],
  ['7', '= 8', false],
  ['8.0', '== 8', true],
  ['9', '!= 8', true],
  ['9', '>= 9', true],
  ['9', '<= 8', false],
  ['x', '!= 8', false],
  ['x', '>= 8', false],
  ['9', '>=', false],
  ['abc', 's== abc', true],
  ['abc', 's!= abc', false],
  ['abc', 's< abd', true],
  ['abc', 's> abd', false],
  ['abc', 's<= abc', true],
  ['abc', 's>= abc', true],
  ['avx avx2', '<in> avx2', true],
  ['sse', '<in> avx2', false],
  ['sse', '<in>', false],
  ['aes avx sse', '<all-in> aes sse', true],
  ['aes avx', '<all-in> aes sse', false],
  ['r2', '<or> r1 <or> r2', true],
  ['r', '<or> r1 <or> r2', false],
  ['x', 'constructor 8', false],
  ['toString x', 'toString x', true],
])('a fact %j answers the extra spec %j with %s', (value, wanted, expected) => {
  expect(matchesSpec(value, wanted)).toBe(expected);
});
