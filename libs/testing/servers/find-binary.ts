import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';

/** A program that tests need: its folders besides PATH, and its Debian package. */
export interface Binary {
  readonly name: string;
  readonly folders: readonly string[];
  readonly debianPackage: string;
}

/**
 * The path of a program. On Debian, as root, a missing one is installed, with a line about it.
 *
 * @throws BerthError `failed_precondition / missing_binary` with the package to install.
 */
export function findBinary(binary: Binary): string {
  return locate(binary) ?? (installPackage(binary.debianPackage) ? locate(binary) : undefined) ?? missing(binary);
}

/**
 * Debian's Python, with these modules and their packages' dependencies; installed likewise.
 *
 * @throws BerthError `failed_precondition / missing_binary`.
 */
export function findPython(modules: Readonly<Record<string, string>>): string {
  const python = findBinary({ name: 'python3', folders: ['/usr/bin'], debianPackage: 'python3' });
  const imports = `import ${Object.keys(modules).join(', ')}`;
  needLibraries('Python', modules, () => spawnSync(python, ['-c', imports], { stdio: 'ignore' }).status === 0);
  return python;
}

/** Debian's folder of Go libraries' sources. */
export const GO_LIBRARIES = '/usr/share/gocode';

/** Debian's Go, with these libraries; installed likewise, with the same errors. */
export function findGo(libraries: Readonly<Record<string, string>>): string {
  const go = findBinary({ name: 'go', folders: ['/usr/bin'], debianPackage: 'golang-go' });
  const folders = Object.keys(libraries).map((name) => join(GO_LIBRARIES, 'src', name));
  needLibraries('Go', libraries, () => folders.every((folder) => existsSync(folder)));
  return go;
}

/** @param packages  Debian's package of each library */
function needLibraries(of: string, packages: Readonly<Record<string, string>>, areThere: () => boolean): void {
  const debianPackages = Object.values(packages);
  if (areThere() || (debianPackages.every(installPackage) && areThere())) return;
  missing({
    name: `${of}'s ${Object.keys(packages).join(', ')}`,
    folders: [],
    debianPackage: debianPackages.join(' '),
  });
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
  // Run level 1 keeps the package from starting its server.
  const env = { ...environment(), DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const aptGet = (...args: string[]) => spawnSync('apt-get', args, { env, stdio: 'ignore' }).status === 0;
  // Another worker may be installing at the same time. Hundreds of packages need not survive a power cut one by one.
  const options = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'Dpkg::Options::=--force-unsafe-io'];
  const install = () => aptGet('install', '-y', '--no-install-recommends', ...options, name);
  // An installation that was interrupted keeps all others from starting.
  const repair = () => spawnSync('dpkg', ['--configure', '-a'], { env, stdio: 'ignore' }).status === 0;
  return install() || (repair() && aptGet('update') && install());
}

function missing({ name, debianPackage }: Binary): never {
  throw new BerthError(
    'failed_precondition',
    'missing_binary',
    `${name} is not installed; install it (Debian: 'apt-get install ${debianPackage}') or put it on PATH, and run the tests again`,
  );
}
