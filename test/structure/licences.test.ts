import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that what Berth is made of may have: each lets it be given on under Berth's own, Apache-2.0. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'];

/** Those that say it in a form that npm's lock file leaves out, by their own package.json. */
const SAID_OTHERWISE: Readonly<Record<string, string>> = { buildcheck: 'MIT', 'cpu-features': 'MIT', ssh2: 'MIT' };

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
}

const lock = JSON.parse(readFileSync(join(__dirname, '../../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

it('is made of packages whose licences are known and allowed', () => {
  const shipped = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev);
  expect(shipped.length).toBeGreaterThan(50);
  const licences = shipped.map(([path, { version, license }]) => {
    const name = path.replace(/^.*node_modules\//, '');
    return { name, version, licence: license ?? SAID_OTHERWISE[name] ?? 'none' };
  });
  expect(licences.filter(({ licence }) => !ALLOWED.includes(licence))).toEqual([]);
});
