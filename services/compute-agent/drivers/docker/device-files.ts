import { access } from 'node:fs/promises';
import { BerthError } from '#libs/domain/errors';
import type { InstanceToBuild, NestedCapacity } from '../driver';

/** By provider name. */
export type DeviceFiles = ReadonlyMap<string, readonly string[]>;

/**
 * Parses `NAME=/dev/path` entries; a provider may have several.
 *
 * @throws BerthError `invalid_argument / bad_config`.
 */
export function parseDeviceFiles(entries: readonly string[]): DeviceFiles {
  const files = new Map<string, string[]>();
  for (const entry of entries) {
    const [, name = '', path = ''] = /^([^=]+)=(\/dev\/.+)$/.exec(entry) ?? [];
    if (name === '') {
      const message = `BERTH_AGENT_DOCKER_DEVICES: '${entry}' is not NAME=/dev/path`;
      throw new BerthError('invalid_argument', 'bad_config', message);
    }
    files.set(name, [...(files.get(name) ?? []), path]);
  }
  return files;
}

/** The device files of an instance's claimed providers. */
export function filesOf(files: DeviceFiles, claimed: InstanceToBuild['claimed']): readonly string[] {
  return Object.keys(claimed).flatMap((provider) => files.get(provider) ?? []);
}

/** The present providers: without those whose device file is gone, and the ones below them. */
export async function presentProviders(
  nested: readonly NestedCapacity[],
  files: DeviceFiles,
): Promise<readonly NestedCapacity[]> {
  const gone = new Set<string>();
  await Promise.all(
    [...files].map(async ([name, paths]) => {
      if (!(await areThere(paths))) gone.add(name);
    }),
  );
  if (gone.size === 0) return nested;
  const parents = new Map(nested.map(({ name, parent }) => [name, parent]));
  const isGone = (name: string): boolean => name !== '' && (gone.has(name) || isGone(parents.get(name) ?? ''));
  return nested.filter(({ name }) => !isGone(name));
}

function areThere(paths: readonly string[]): Promise<boolean> {
  return Promise.all(paths.map((path) => access(path))).then(
    () => true,
    () => false,
  );
}
