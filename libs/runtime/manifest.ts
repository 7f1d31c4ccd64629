import { readFileSync } from 'node:fs';

/** The parts of package.json that a running process reads. */
interface Manifest {
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(require.resolve('#package.json'), 'utf8')) as Manifest;
}

/** The version in package.json. */
export function berthVersion(): string {
  return readManifest().version;
}
