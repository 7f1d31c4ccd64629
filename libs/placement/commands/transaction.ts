import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { RefusedCommit } from '../port/placement-store';
import type { Stored, TableName, Tables } from './tables';

/** What a transaction reads of a store. Its reads need not be one snapshot: the guards are checked together. */
export interface Reader {
  rows<T extends TableName>(table: T, keys: readonly string[]): Promise<(Stored<Tables[T]> | undefined)[]>;
  counts(names: readonly string[]): Promise<number[]>;
  /** Hosts whose last heartbeat is not after a time, longest silent first. */
  silentHosts(silentSinceMs: number, limit: number): Promise<string[]>;
  /** Every row of a table. */
  scan<T extends TableName>(table: T): Promise<[key: string, stored: Stored<Tables[T]>][]>;
}

/** What must still be so when the transaction is committed. */
export type Guard =
  | {
      readonly kind: 'row';
      readonly table: TableName;
      readonly key: string;
      readonly stored: Stored<unknown> | undefined;
    }
  | { readonly kind: 'count'; readonly name: string; readonly count: number }
  | { readonly kind: 'silent'; readonly host: string; readonly silentSinceMs: number };

/**
 * What a commit writes.
 *
 * - `put`     a row; `claim` a consumer's, with the commit's claim token
 * - `raise`   the generation of a provider by one, whatever it is
 * - `show`    a provider's usage as it is, into the change record
 * - `count`   moves a counter
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
  | { readonly kind: 'raise' | 'show'; readonly key: string }
  | { readonly kind: 'count'; readonly name: string; readonly by: number }
  | { readonly kind: 'beat'; readonly host: string; readonly atMs: number }
  | { readonly kind: 'mute'; readonly host: string };

/**
 * One optimistic transaction: what it has read becomes guards, what it writes is kept until the commit.
 *
 * The naive way is one script per command. Then every rule (trees, names, catalogue, reports) exists twice, in Lua and for
 * the memory store, and the two drift apart. Here each command is one function over this class, and an adapter only has to
 * read rows and to apply guards and writes as one atomic step; when a guard fails, the command is decided again on fresh
 * rows. It costs a second round trip, and under contention a retry; so the one command that is contended, writing
 * allocations, has its own script, and what commutes (`raise`, `count`) is written without being read. (Kung and
 * Robinson, "On optimistic methods for concurrency control".)
 */
export class Transaction {
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

  async count(name: string): Promise<number> {
    const [count = 0] = await this.reader.counts([name]);
    this.guards.push({ kind: 'count', name, count });
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

/** Whether the writes are seen by mirrors. Those that are not take no revision. */
export function isCommit(writes: readonly Write[]): boolean {
  return writes.some((write) => {
    if (write.kind === 'beat' || write.kind === 'mute') return false;
    return !(
      (write.kind === 'put' || write.kind === 'delete') &&
      (write.table === 'sequence' || write.table === 'holder')
    );
  });
}
