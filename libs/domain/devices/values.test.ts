import { capacityClass, isQualifiedName } from './device';
import { formatQuantity, parseQuantity } from './quantity';
import { compareVersions, parseVersion } from './version';

it.each([
  ['80Gi', 80 * 2 ** 30],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['10k', 10_000],
  ['7', 7],
  ['0', 0],
  ['9000Pi', undefined],
  ['1.5', undefined],
  ['-1', undefined],
  ['Gi', undefined],
  ['', undefined],
])('%s is a quantity of %s', (text, amount) => expect(parseQuantity(text)).toBe(amount));

it.each([80 * 2 ** 30, 5, 0, 1_000, 3 * 2 ** 20])('%i is written as it is read', (amount) => {
  expect(parseQuantity(formatQuantity(amount))).toBe(amount);
});

it('orders versions as semver.org does', () => {
  const inOrder = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.9.0',
    '1.10.0',
    '2.0.0',
  ];
  const versions = inOrder.map((text) => parseVersion(text) ?? { numbers: [0, 0, 0] as const, preRelease: [] });
  for (const [n, one] of versions.entries()) {
    for (const [m, other] of versions.entries()) expect(Math.sign(compareVersions(one, other))).toBe(Math.sign(n - m));
  }
  expect(['1.0', '01.0.0', 'v1.0.0', '1.0.0-'].map(parseVersion)).toEqual([undefined, undefined, undefined, undefined]);
});

it('names are words, with a domain in front or not', () => {
  expect(['model', 'gpu.example.com/model', '_a-b'].every(isQualifiedName)).toBe(true);
  expect(['', 'a b', 'a/b/c', '/a', 'A/b', '1a', '__proto__ '].some(isQualifiedName)).toBe(false);
  expect(capacityClass('gpu.example.com/memory')).toBe('CUSTOM_DEVICE_GPU_EXAMPLE_COM_MEMORY');
});
