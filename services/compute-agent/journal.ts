import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import type { Carried } from './ledger';

/**
 * What a host carries, on disk: one small file per instance, so that a killed agent finds its instances again. Files are
 * replaced by renaming and never synced: they must outlive the agent's process, and an instance that could be found by
 * them does not outlive the machine either.
 */
export interface Journal {
  load(): Promise<Carried[]>;
  put(carried: Carried): Promise<void>;
  remove(uuid: string): Promise<void>;
}

/** For agents without a state folder: nothing is remembered. */
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
      return Promise.all(uuids.map(async (uuid) => JSON.parse(await readFile(fileOf(uuid), 'utf8')) as Carried));
    },
    async put(carried) {
      const file = fileOf(carried.uuid);
      await writeFile(`${file}.new`, JSON.stringify(carried), { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    async remove(uuid) {
      await rm(fileOf(uuid), { force: true });
    },
  };
}
