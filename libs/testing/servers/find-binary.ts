import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';

/** A program that tests need: where it may be besides PATH, and the Debian package that brings it. */
export interface Binary {
  readonly name: string;
  readonly folders: readonly string[];
  readonly debianPackage: string;
}

/**
 * The path of a program. On Debian, as root, one that is missing is installed, and a line says so.
 *
 * @throws BerthError `failed_precondition / missing_binary`, which says what to install.
 */
export function findBinary(binary: Binary): string {
  return locate(binary) ?? (installPackage(binary.debianPackage) ? locate(binary) : undefined) ?? missing(binary);
}

/**
 * Debian's Python, with these modules and what its packages need; installed likewise.
 *
 * @throws BerthError `failed_precondition / missing_binary`.
 */
export function findPython(modules: Readonly<Record<string, string>>): string {
  const [packages, names] = [Object.values(modules), Object.keys(modules)];
  const python = findBinary({ name: 'python3', folders: ['/usr/bin'], debianPackage: 'python3' });
  const hasModules = () => spawnSync(python, ['-c', `import ${names.join(', ')}`], { stdio: 'ignore' }).status === 0;
  if (hasModules() || (packages.every(installPackage) && hasModules())) return python;
  return missing({ name: `Python's ${names.join(', ')}`, folders: [], debianPackage: packages.join(' ') });
}

function locate({ name, folders }: Binary): string | undefined {
  const path = environment()['PATH'] ?? '';
  return [...folders, ...path.split(delimiter)].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installPackage(name: string): boolean {
  if (process.getuid?.() !== 0 || !isExecutable('/usr/bin/apt-get')) return false;
  process.stderr.write(`installing ${name} with apt-get: the tests need it\n`);
  // Run level 1 keeps the package from starting a server of its own.
  const env = { ...environment(), DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const aptGet = (...args: string[]) => spawnSync('apt-get', args, { env, stdio: 'ignore' }).status === 0;
  const install = () => aptGet('install', '-y', '--no-install-recommends', name);
  return install() || (aptGet('update') && install());
}

function missing({ name, debianPackage }: Binary): never {
  throw new BerthError(
    'failed_precondition',
    'missing_binary',
    `${name} is not installed; install it (Debian: 'apt-get install ${debianPackage}') or put it on PATH, and run the tests again`,
  );
}
