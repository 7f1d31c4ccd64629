import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { replaceFile } from '../host/journal';
import { isLocked } from './former-run';

/** The agent that owns a state folder. */
interface Owner {
  readonly cell: string;
  /** Its service host. */
  readonly host: string;
}

/**
 * Records the owner of a state folder, and refuses the folder to an agent of another name while instances of the former
 * name are in it. The caller has locked its own part.
 *
 * The naive way is to look at a host's own part of the folder only. A renamed machine finds none: its agent reports an
 * empty host while the instances keep running, and after an evacuation of the old name each runs twice. So a new name
 * is accepted only when no other owner has instances in the folder, except live agents beside this one, whose locks are
 * held: several may share a folder, and each stays recorded. Each has a file of its own, so that concurrent starts do
 * not overwrite each other.
 *
 * @throws BerthError `failed_precondition / state_of_another_host`, `/ state_dir`
 */
export async function ownState(folder: string, own: Owner): Promise<void> {
  const names = await namesIn(folder);
  const noted = await readNotes(folder);
  const owners = noted.length > 0 ? noted : await formerOwners(folder, names, own.cell);
  const isOwn = ({ cell, host }: Owner) => cell === own.cell && isCarriedBy(own, host);
  const gone: Owner[] = [];
  for (const other of owners.some(isOwn) ? [] : owners) {
    const hosts = names.filter((name) => isCarriedBy(other, name));
    if (other.host !== own.host && (await isAnyLocked(folder, hosts))) continue;
    if (await hasInstances(folder, hosts)) throw ofAnother(folder, other, own);
    gone.push(other);
  }
  for (const other of gone) await rm(fileOf(folder, other), { force: true });
  const known = [...owners.filter((one) => !gone.includes(one)), own];
  for (const one of known) if (!noted.some((other) => isSame(one, other))) await replaceFile(fileOf(folder, one), one);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return (await readdir(folder, { withFileTypes: true })).filter((one) => one.isDirectory()).map(({ name }) => name);
  } catch (cause) {
    throw new BerthError('failed_precondition', 'state_dir', `the folder ${folder} can't be made or read`, { cause });
  }
}

/** Owners of an older version's folder, which shows only the hosts. */
async function formerOwners(folder: string, names: readonly string[], cell: string): Promise<readonly Owner[]> {
  const parts = await Promise.all(names.map((name) => list(join(folder, name), (part) => PARTS.includes(part))));
  return names.filter((_, n) => parts[n]?.length !== 0).map((host) => ({ cell, host }));
}

const PARTS: readonly string[] = ['journal', 'instances'];

function isSame(one: Owner, other: Owner): boolean {
  return one.cell === other.cell && one.host === other.host;
}

function isCarriedBy({ host }: Owner, name: string): boolean {
  return name === host || (name.startsWith(`${host}-`) && /^\d+$/.test(name.slice(host.length + 1)));
}

async function isAnyLocked(folder: string, hosts: readonly string[]): Promise<boolean> {
  for (const host of hosts) if (await isLocked(join(folder, host, 'holder.lock'))) return true;
  return false;
}

/** True when a journal has instances, or a driver left files of some. */
async function hasInstances(folder: string, hosts: readonly string[]): Promise<boolean> {
  const lists = hosts.flatMap((host) => [
    list(join(folder, host, 'journal'), (name) => /^[0-9a-f-]{36}[.]json([.]unreadable)?$/.test(name)),
    list(join(folder, host, 'instances'), () => true),
  ]);
  return (await Promise.all(lists)).some((found) => found.length > 0);
}

async function list(folder: string, isWanted: (name: string) => boolean): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter(isWanted);
}

const NOTE = '.owner.json';

function fileOf(folder: string, { cell, host }: Owner): string {
  return join(folder, `${host}.${cell}${NOTE}`);
}

/** The readable ones. */
async function readNotes(folder: string): Promise<Owner[]> {
  const files = await list(folder, (name) => name.endsWith(NOTE));
  const notes = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8').then(parsed)));
  return notes.filter((one) => one !== undefined);
}

function parsed(text: string): Owner | undefined {
  try {
    const { cell, host } = JSON.parse(text) as Partial<Owner>;
    return typeof cell === 'string' && typeof host === 'string' ? { cell, host } : undefined;
  } catch {
    return undefined;
  }
}

function ofAnother(folder: string, { cell, host }: Owner, own: Owner): BerthError {
  const name = (one: Owner) => `${one.host} of cell ${one.cell}`;
  const message =
    `the folder ${folder} has instances of host ${name({ cell, host })}, and this agent is ${name(own)}: they may run here. ` +
    `Start it as BERTH_AGENT_HOST=${host} and drain it (berth host drain ${host}), then rename it; or, if nothing of ${host} runs on ` +
    'this machine any more, give it another BERTH_AGENT_STATE_DIR';
  return new BerthError('failed_precondition', 'state_of_another_host', message, { details: { host, cell } });
}
