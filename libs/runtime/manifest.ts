import { readFileSync } from 'node:fs';

/** The parts of package.json that a running process reads. */
interface Manifest {
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(require.resolve('#package.json'), 'utf8')) as Manifest;
}

/** The command that installs optional peers of the package, those whose names begin so. */
export function installPeers(prefix: string): string {
  const peers = Object.entries(readManifest().peerDependencies).filter(([name]) => name.startsWith(prefix));
  return `npm install ${peers.map((peer) => peer.join('@')).join(' ')}`;
}

/** The version in package.json. */
export function berthVersion(): string {
  return readManifest().version;
}
