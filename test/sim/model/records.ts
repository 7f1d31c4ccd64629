import { type Broken, broken, type Maps, withEntry } from './step';

/** A version of an instance's record, as far as the protocol goes. */
export interface Version {
  readonly uuid: string;
  readonly version: number;
  readonly state: string;
  readonly host: string | undefined;
  /** Number of the present attempt. */
  readonly attempt: number;
  /** All attempts, as `<number> on <host>`. */
  readonly begun: readonly string[];
  readonly token: number | undefined;
  /** At the top of a fleet: it says what its cell told, and versions of the cell's record may be missed. */
  readonly isTold?: boolean;
}

export type RecordStep =
  | { readonly kind: 'create' | 'update'; readonly next: Version }
  /** The event of a version goes to the bus. */
  | { readonly kind: 'publish'; readonly uuid: string; readonly version: number; readonly state: string }
  /** All versions up to this one leave the outbox. */
  | { readonly kind: 'mark'; readonly uuid: string; readonly version: number }
  /** The store's outbox keeps these versions; that of the present record is among them. */
  | { readonly kind: 'keep'; readonly uuid: string; readonly versions: readonly number[] }
  /** An order goes to a host: to build an attempt, or to destroy attempts up to one (0: whatever is there). */
  | { readonly kind: 'build' | 'destroy'; readonly uuid: string; readonly host: string; readonly attempt: number };

export interface Records {
  /** The present versions. */
  readonly records: Maps<Version>;
  /** Versions whose events are to be published. */
  readonly outbox: Maps<readonly number[]>;
  /** Versions that the bus has taken; no store can forget them. */
  readonly published: Maps<readonly string[]>;
  /** Attempts that any version ever had, as `<number> on <host>`; no store can take back what was ordered by them. */
  readonly begun: Maps<readonly string[]>;
  /** Orders that went to hosts: the bus may bring each again, however late. */
  readonly ordered: Maps<readonly string[]>;
  /** Versions that there ever were, as `<version> <state>`. */
  readonly versions: Maps<readonly string[]>;
}

export const NO_RECORDS: Records = { records: {}, outbox: {}, published: {}, begun: {}, ordered: {}, versions: {} };

/** States in which a healthy instance runs, or is kept, on its host, and nothing has asked for its end. */
const KEPT: readonly string[] = ['active', 'unknown', 'stopping', 'stopped', 'starting'];
const FIRST: readonly string[] = ['scheduling', 'pending', 'active', 'stopped'];

/**
 * A record changes by one version at a time, and its event is in the outbox by the same write (transactional outbox: Richardson,
 * "Microservices Patterns", 3.2.7). Orders follow from versions that were written, never the other way round.
 */
export function stepRecords(r: Records, step: RecordStep): Records | Broken {
  switch (step.kind) {
    case 'create':
    case 'update':
      return wrongOf(r, step.kind, step.next) ?? written(r, step.next);
    case 'publish': {
      const words = `${step.version} ${step.state}`;
      const { published } = r;
      const before = published[step.uuid] ?? [];
      if (!r.versions[step.uuid]?.includes(words))
        return broken(`${step.uuid}: ${words} is told, and was never written`);
      return { ...r, published: withEntry(published, step.uuid, [...new Set([...before, words])]) };
    }
    case 'mark': {
      const { uuid, version } = step;
      const told = new Set(r.published[uuid]?.map((words) => Number(words.split(' ')[0])));
      const untold = r.outbox[uuid]?.find((one) => one <= version && !told.has(one));
      if (untold !== undefined) return broken(`${uuid}: version ${untold} leaves the outbox, and was told to nobody`);
      const left = r.outbox[uuid]?.filter((one) => one > version) ?? [];
      return { ...r, outbox: withEntry(r.outbox, uuid, left) };
    }
    case 'keep': {
      const { uuid, versions } = step;
      const present = r.records[uuid]?.version;
      if (versions.at(-1) !== present) return broken(`${uuid}: version ${present} is not in the outbox`);
      const untold = r.outbox[uuid]?.filter((one) => one >= (versions[0] ?? 0)) ?? [];
      const isWhole = untold.join() === versions.join();
      return isWhole ? r : broken(`${uuid}: versions ${versions.join()} are in the outbox, of ${untold.join()}`);
    }
    case 'build':
    case 'destroy': {
      const { kind, uuid, host, attempt } = step;
      const words = `${kind} ${attempt} on ${host}`;
      const before = r.ordered[uuid] ?? [];
      if (before.includes(words)) return r;
      const isBegun = r.begun[uuid]?.includes(`${attempt} on ${host}`);
      if (kind === 'build' && !isBegun) return broken(`${uuid}: attempt ${attempt} on ${host} is on no record`);
      if (kind === 'destroy' && isKeptBy(r.records[uuid], step) && !hasLostVersion(r, uuid)) {
        return broken(`${uuid} is healthy on ${host}`);
      }
      return { ...r, ordered: withEntry(r.ordered, uuid, [...before, words]) };
    }
  }
}

/** True when an order to destroy would end the attempt that the record keeps. */
function isKeptBy(record: Version | undefined, { host, attempt }: { host: string; attempt: number }): boolean {
  if (record === undefined || record.host !== host || !KEPT.includes(record.state)) return false;
  return attempt === 0 || attempt >= record.attempt;
}

/** True while the present version is older than one that the store forgot: who wrote that one may still act on it. */
function hasLostVersion({ records, versions }: Records, uuid: string): boolean {
  const present = records[uuid]?.version ?? 0;
  return versions[uuid]?.some((words) => Number.parseInt(words, 10) > present) ?? false;
}

function wrongOf({ records }: Records, kind: string, next: Version): Broken | undefined {
  const { uuid, version, state } = next;
  const old = records[uuid];
  if (kind === 'create') {
    // Forgotten, if it had ended: then the uuid may come again.
    if (old && !['deleted', 'error'].includes(old.state))
      return broken(`${uuid} is created again while it is ${old.state}`);
    return FIRST.includes(state) ? undefined : broken(`${uuid} begins as ${state}`);
  }
  if (old?.version !== version - 1)
    return broken(`${uuid}: version ${version} is written after version ${old?.version}`);
  // A cell whose store went back may have it again: then the top has it ended again.
  if (old.state === 'deleted' && !(next.isTold && ['deleting', 'deleted'].includes(state)))
    return broken(`${uuid} goes on after it was deleted`);
  if (next.isTold) return undefined;
  if (old.state === 'deleting' && !['deleting', 'deleted'].includes(state))
    return broken(`${uuid} goes from deleting to ${state}`);
  if (old.state === 'error' && !['error', 'deleting'].includes(state))
    return broken(`${uuid} goes from error to ${state}`);
  if (state === 'deleted' && old.state !== 'deleting') return broken(`${uuid} is deleted without an order to its host`);
  return undefined;
}

function written(r: Records, next: Version): Records {
  const { uuid, version, state } = next;
  return {
    ...r,
    records: withEntry(r.records, uuid, next),
    outbox: withEntry(r.outbox, uuid, [...(r.outbox[uuid] ?? []), version]),
    begun: withEntry(r.begun, uuid, [...new Set([...(r.begun[uuid] ?? []), ...next.begun])]),
    versions: withEntry(r.versions, uuid, [...new Set([...(r.versions[uuid] ?? []), `${version} ${state}`])]),
  };
}
