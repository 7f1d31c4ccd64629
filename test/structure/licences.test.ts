import { billOfMaterials, lockedPackages, refOf, shippedPackages } from '../sbom';

/** Licences that what Berth is made of may have: each lets it be given on under Berth's own, Apache-2.0. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'];

it('is made of packages whose licences are known and allowed', () => {
  const shipped = shippedPackages();
  expect(shipped.length).toBeGreaterThan(50);
  const licences = shipped.map(({ name, version, license }) => {
    return { name, version, licence: license ?? 'none' };
  });
  expect(licences.filter(({ licence }) => !ALLOWED.includes(licence))).toEqual([]);
});

it('is locked to the contents of each package, those of other platforms too, and to no registry', () => {
  const locked = lockedPackages();
  expect(locked.length).toBeGreaterThan(500);
  expect(locked.filter(({ integrity }) => !integrity?.startsWith('sha512-')).map(refOf)).toEqual([]);
  // Whoever installs takes them from the registry that they trust.
  expect(locked.filter(({ resolved }) => resolved !== undefined).map(refOf)).toEqual([]);
});

it('runs no script when it is installed', () => {
  expect(shippedPackages().filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
});

it('lists them all in its bill of materials, and no others, each with a licence and a hash', () => {
  const { components, dependencies } = billOfMaterials();
  const listed = components.map((component) => component['bom-ref']);
  expect(new Set(listed)).toEqual(new Set(shippedPackages().map(refOf)));
  expect(components.filter(({ licenses = [], hashes = [] }) => !licenses.length || !hashes.length)).toEqual([]);
  expect(new Set(dependencies.slice(1).map(({ ref }) => ref))).toEqual(new Set(listed));
});
