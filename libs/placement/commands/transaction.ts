import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { RefusedCommit } from '../port/placement-store';
import type { Stored, TableName, Tables } from './tables';

/** Reads of a transaction. They need not be one snapshot: the guards are checked together. */
export interface Reader {
  rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]>;
  counts(names: readonly string[]): Promise<number[]>;
  /** Hosts whose last heartbeat is not after a time, longest silent first. */
  silentHosts(silentSinceMs: number, limit: number): Promise<string[]>;
  /** Every row of a table. */
  scan<T extends TableName>(table: T): Promise<[key: string, stored: Stored<Tables[T]>][]>;
  /** Texts of usage records of a project key, in order, the first `most`. */
  records(key: string, most: number): Promise<string[]>;
  recordCount(key: string): Promise<number>;
}

/**
 * A condition at the commit of the transaction; the first guard that fails stops it. One with a `refusal` says why the
 * command is refused then; any other means that what was read is out of date, and the command is decided again.
 *
 * - `row`     a row is as it was read, or still absent
 * - `count`   a counter, of a group's members where it says so, lies within bounds, both inclusive
 * - `amount`  an amount of a row lies within bounds
 * - `silent`  a host was not heard after a time
 *
 * Bounds commute: claims that a host, a group and a project have room for never fail each other. (O'Neil 1986, "The escrow
 * transactional method".)
 */
export type Guard =
  | {
      readonly kind: 'row';
      readonly table: TableName;
      readonly key: string;
      readonly stored: { readonly revision: number } | undefined;
    }
  | (Bounds & { readonly kind: 'count'; readonly name: string; readonly group?: string })
  | (Bounds & { readonly kind: 'amount'; readonly table: AmountsTable; readonly key: string; readonly name: string })
  | { readonly kind: 'silent'; readonly host: string; readonly silentSinceMs: number };

/** Bounds of a number before the transaction's own writes. */
interface Bounds {
  readonly least?: number;
  readonly most?: number;
  /**
   * Why the command is refused when the number lies outside; undefined: decide it again.
   *
   * @param usage  the row of amounts now, if the guard is on one of a usage
   */
  readonly refusal?: (usage: Stored<Tables['usage']> | undefined) => RefusedCommit | undefined;
}

/** Tables whose rows are a number and amounts by name. */
export type AmountsTable = 'usage' | 'project_usage';

/**
 * A write of a commit.
 *
 * - `put`     a row; `claim` a consumer's, with the commit's claim token
 * - `add`     moves amounts of a row, which is made if there is none
 * - `raise`   the generation of a provider by one, whatever it is
 * - `stamp`   the time of a project's row, which goes back by no less than a day (`laterOf`)
 * - `show`    a provider's usage as it is, into the change record
 * - `count`   moves a counter
 * - `record`  adds a usage record of a project key, unless there are as many as may be; `unrecord` takes it away
 * - `beat`    notes a heartbeat, and renews the lease of the host's holder; `mute` forgets it
 */
export type Write =
  | {
      readonly [T in TableName]: {
        readonly kind: 'put';
        readonly table: T;
        readonly key: string;
        readonly row: Tables[T];
      };
    }[TableName]
  | { readonly kind: 'claim'; readonly key: string; readonly row: Consumer }
  | { readonly kind: 'delete'; readonly table: TableName; readonly key: string }
  | {
      readonly kind: 'add';
      readonly table: AmountsTable;
      readonly key: string;
      readonly amounts: readonly (readonly [name: string, by: number])[];
    }
  | { readonly kind: 'raise' | 'show'; readonly key: string }
  | { readonly kind: 'stamp'; readonly key: string; readonly atMs: number }
  | { readonly kind: 'count'; readonly name: string; readonly by: number }
  | {
      readonly kind: 'record';
      readonly key: string;
      readonly text: string;
      readonly mostOfProject: number;
      readonly most: number;
    }
  | { readonly kind: 'unrecord'; readonly key: string; readonly text: string }
  | { readonly kind: 'beat'; readonly host: string; readonly atMs: number }
  | { readonly kind: 'mute'; readonly host: string };

/** A transaction as it goes to the store: committed whole if every guard holds, else not at all. */
export interface Proposal {
  readonly guards: readonly Guard[];
  readonly writes: readonly Write[];
  /** The command is refused if the guards hold; it writes nothing. */
  readonly refusal?: RefusedCommit;
}

/**
 * One optimistic transaction: what it has read becomes guards, what it writes is kept until the commit.
 *
 * The naive way is one script per command. Then every rule (trees, names, catalogue, reports) exists twice, in Lua and for
 * the memory store, and the two drift apart. Here each command is one function over this class, and an adapter only has to
 * read rows and to apply guards and writes as one atomic step; when a guard fails, the command is decided again on fresh
 * rows. It costs a second round trip, and under contention a retry; so claims, which are contended, are guarded by bounds
 * (`allocations.ts`), and what commutes (`add`, `raise`, `count`) is written without being read. (Kung and Robinson, "On
 * optimistic methods for concurrency control".)
 */
export class Transaction implements Proposal {
  readonly guards: Guard[] = [];
  readonly writes: Write[] = [];

  constructor(private readonly reader: Reader) {}

  async get<T extends TableName>(table: T, key: string): Promise<Tables[T] | undefined> {
    return (await this.getAll(table, [key]))[0];
  }

  async getAll<T extends TableName>(table: T, keys: readonly string[]): Promise<(Tables[T] | undefined)[]> {
    return (await this.getStored(table, keys)).map((stored) => stored?.row);
  }

  /** Rows with their revisions. */
  async getStored<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]> {
    if (keys.length === 0) return [];
    const found = await this.reader.rows(table, keys);
    for (const [i, key] of keys.entries()) this.guards.push({ kind: 'row', table, key, stored: found[i] });
    return found;
  }

  async scan<T extends TableName>(table: T): Promise<[key: string, row: Tables[T]][]> {
    const found = await this.reader.scan(table);
    return found.map(([key, stored]) => [key, stored.row]);
  }

  /** No guard: whoever takes a record away guards the row that it goes to. */
  records(key: string, most: number): Promise<string[]> {
    return this.reader.records(key, most);
  }

  recordCount(key: string): Promise<number> {
    return this.reader.recordCount(key);
  }

  async count(name: string): Promise<number> {
    const [count = 0] = await this.reader.counts([name]);
    this.guards.push({ kind: 'count', name, least: count, most: count });
    return count;
  }

  /** As it is now, and may have moved by the commit: for a bound that a few may exceed. */
  async readCount(name: string): Promise<number> {
    const [count = 0] = await this.reader.counts([name]);
    return count;
  }

  async silentHosts(silentSinceMs: number, limit: number): Promise<string[]> {
    const hosts = await this.reader.silentHosts(silentSinceMs, limit);
    for (const host of hosts) this.guards.push({ kind: 'silent', host, silentSinceMs });
    return hosts;
  }

  put<T extends TableName>(table: T, key: string, row: Tables[T]): void {
    this.writes.push({ kind: 'put', table, key, row } as Write);
  }

  write(...writes: readonly Write[]): void {
    this.writes.push(...writes);
  }
}

/** Why a command is refused, or undefined when the transaction has the writes to commit. */
export type Decided = Promise<RefusedCommit | undefined>;

/** A command with the time that stamps its rows. */
export type Timed<C> = C & { readonly atMs: number };

/** Each conflict means that another transaction got through, so this many in a row mean that something is wrong. */
const MAX_ATTEMPTS = 1_000;

/**
 * Decides a transaction and commits it; again on fresh rows as long as others change what it has read.
 *
 * @param decide  fills the transaction; why it is refused, or undefined
 * @param commit  applies it in one step, or `conflict` when a guard does not hold
 * @throws BerthError `aborted / contention`
 */
export async function transact<Refused, Done extends { readonly kind: string }>(
  reader: Reader,
  decide: (tx: Transaction) => Promise<Refused | undefined>,
  commit: (tx: Transaction) => Promise<Done | Conflict>,
): Promise<Refused | Exclude<Done, Conflict>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const tx = new Transaction(reader);
    const refused = await decide(tx);
    if (refused !== undefined) return refused;
    const done = await commit(tx);
    if (done.kind !== 'conflict') return done as Exclude<Done, Conflict>;
  }
  throw new BerthError('aborted', 'contention', `${MAX_ATTEMPTS} attempts met concurrent commits; try again`);
}

/** A guard of the transaction does not hold any more. */
export interface Conflict {
  readonly kind: 'conflict';
}

/** True if mirrors see the writes. Others take no revision. */
export function isCommit(writes: readonly Write[]): boolean {
  return writes.some((write) => {
    if (write.kind === 'beat' || write.kind === 'mute') return false;
    return !(
      (write.kind === 'put' || write.kind === 'delete') &&
      (write.table === 'sequence' || write.table === 'holder' || write.table === 'recent_use')
    );
  });
}
