import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import type { TrackedInstance } from './ledger';

/**
 * The instances of a host on disk, one small JSON file each, so that an agent that was killed finds them again. Files
 * are replaced by renaming and not synced: they must survive the agent's process, and no instance survives the machine.
 */
export interface Journal {
  load(): Promise<TrackedInstance[]>;
  put(instance: TrackedInstance): Promise<void>;
  remove(uuid: string): Promise<void>;
}

/** Of an agent without a state folder: remembers nothing. */
export const noJournal: Journal = {
  load: async () => [],
  async put() {},
  async remove() {},
};

/** @throws BerthError `failed_precondition / state_dir` when the folder can't be used. */
export async function openJournal(folder: string): Promise<Journal> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new BerthError('failed_precondition', 'state_dir', `the folder ${folder} can't be made or written`, {
      cause,
    });
  });
  const fileOf = (uuid: string) => join(folder, `${uuid}.json`);
  return {
    async load() {
      const names = await readdir(folder);
      const uuids = names.map((name) => name.replace(/\.json$/, '')).filter(isUuid);
      return Promise.all(
        uuids.map(async (uuid) => JSON.parse(await readFile(fileOf(uuid), 'utf8')) as TrackedInstance),
      );
    },
    async put(instance) {
      const file = fileOf(instance.uuid);
      await writeFile(`${file}.new`, JSON.stringify(instance), { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    async remove(uuid) {
      await rm(fileOf(uuid), { force: true });
    },
  };
}
