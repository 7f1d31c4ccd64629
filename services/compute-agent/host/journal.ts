import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostDisabled } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import type { TrackedInstance } from './ledger';

/**
 * The instances of a host on disk, one small JSON file each, and whether it is disabled, so that an agent that was killed
 * finds them again. Files are not synced: they must survive the agent's process, and no instance survives the machine.
 */
export interface Journal {
  load(): Promise<TrackedInstance[]>;
  /** Whether an operator disabled the host, as the last answer to its report said. */
  loadDisabled(): Promise<HostDisabled | undefined>;
  putDisabled(disabled: HostDisabled | undefined): Promise<void>;
  put(instance: TrackedInstance): Promise<void>;
  remove(uuid: string): Promise<void>;
  /** Which instances stopped by themselves, for as long as the orders that built them may come again. */
  loadLost(): Promise<LostInstance[]>;
  putLost(lost: LostInstance): Promise<void>;
  removeLost(uuid: string): Promise<void>;
}

/** An instance that is gone, and by what it was built. */
export type LostInstance = Pick<TrackedInstance, 'uuid' | 'attempt' | 'claimToken'>;

/** Of an agent without a state folder: remembers nothing. */
export const noJournal: Journal = {
  load: async () => [],
  loadDisabled: async () => undefined,
  async putDisabled() {},
  async put() {},
  async remove() {},
  loadLost: async () => [],
  async putLost() {},
  async removeLost() {},
};

/** @throws BerthError `failed_precondition / state_dir` when the folder can't be used. */
export async function openJournal(folder: string): Promise<Journal> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new BerthError('failed_precondition', 'state_dir', `the folder ${folder} can't be made or written`, {
      cause,
    });
  });
  const fileOf = (uuid: string) => join(folder, `${uuid}.json`);
  const lostFileOf = (uuid: string) => join(folder, `${uuid}${LOST}`);
  const disabledFile = join(folder, 'disabled.json');
  return {
    async load() {
      const names = await readdir(folder);
      const uuids = names.map((name) => name.replace(/\.json$/, '')).filter(isUuid);
      return Promise.all(
        uuids.map(async (uuid) => JSON.parse(await readFile(fileOf(uuid), 'utf8')) as TrackedInstance),
      );
    },
    async loadDisabled() {
      const text = await readFile(disabledFile, 'utf8').catch(() => undefined);
      return text === undefined ? undefined : (JSON.parse(text) as HostDisabled);
    },
    async putDisabled(disabled) {
      if (disabled) await replaceFile(disabledFile, disabled);
      else await rm(disabledFile, { force: true });
    },
    put: (instance) => replaceFile(fileOf(instance.uuid), instance),
    async remove(uuid) {
      await rm(fileOf(uuid), { force: true });
    },
    async loadLost() {
      const files = (await readdir(folder)).filter((name) => name.endsWith(LOST));
      return Promise.all(
        files.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as LostInstance),
      );
    },
    putLost: ({ uuid, attempt, claimToken }) => replaceFile(lostFileOf(uuid), { uuid, attempt, claimToken }),
    async removeLost(uuid) {
      await rm(lostFileOf(uuid), { force: true });
    },
  };
}

/** How the files of lost instances end, which agents of an older version leave alone. */
const LOST = '.lost.json';

/** Writes a value as JSON. Whoever is killed meanwhile leaves the file as it was. */
export async function replaceFile(file: string, value: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
