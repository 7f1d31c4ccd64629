import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = dirname(require.resolve('#package.json'));

/** A package of package-lock.json. */
export interface Locked {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
}

/** Packages that `npm install berth` installs besides Berth itself. */
export function shippedPackages(): Locked[] {
  return lockedPackages().filter(({ dev }) => !dev);
}

/** All packages of package-lock.json besides Berth itself, including those that only development needs. */
export function lockedPackages(): Locked[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Omit<Locked, 'name'>>>;
  };
  return Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => ({ ...locked, name: path.replace(/^.*node_modules\//, '') }));
}

/** The fields that are read of npm's bill of materials, in CycloneDX's format. */
interface Bill {
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly licenses?: readonly object[];
    readonly hashes?: readonly object[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * `npm run sbom`: npm's bill of materials without what only development needs. (`npm sbom --omit dev` also leaves out what
 * both need: 59 packages of 193, protobufjs among them.)
 */
export function billOfMaterials(): Bill {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const told = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const { components, dependencies, ...bill } = JSON.parse(told) as Bill;
  const shipped = new Set(shippedPackages().map(refOf));
  return {
    ...bill,
    // Without npm's properties: they mark packages that both need as development's.
    components: components.filter((one) => shipped.has(one['bom-ref'])).map((one) => ({ ...one, properties: [] })),
    dependencies: dependencies
      .filter(({ ref }, i) => i === 0 || shipped.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => shipped.has(other)) })),
  };
}

/** The name of a package in the bill. */
export function refOf({ name, version }: Locked): string {
  return `${name}@${version}`;
}

if (require.main === module) process.stdout.write(`${JSON.stringify(billOfMaterials(), undefined, 2)}\n`);
