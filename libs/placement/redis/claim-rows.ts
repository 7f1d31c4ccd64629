import type { Consumer } from '../../domain/consumer';
import type { Resources } from '../../domain/inventory';
import type { GuardedRows } from '../commands/claims/check-guards';
import { countersOfMember } from '../commands/claims/group-counters';
import { withAmounts } from '../commands/claims/use-over-time';
import type { ClaimTables, ClaimView, Seen } from '../commands/claims/view';
import { projectOfKey, type TableName } from '../commands/tables';
import type { AmountsTable, Guard, Reader, Write } from '../commands/transaction';
import type { MirroredRows } from '../port/mirrored-rows';

type Table = keyof ClaimTables & TableName;
/** Additions of a batch's claims to a row of amounts; the last claim is the row's writer. */
interface Moved {
  readonly amounts: Record<string, number>;
  revision: number;
}

/** The answer of a mirror that does not have what is asked. */
const UNKNOWN = Symbol('unknown');

/**
 * The rows on which the claims of a batch are decided, one after the other: those of a mirror, or read of the store, with what
 * the claims before make of them. What is asked and not known is noted, to be read at once for all.
 */
export class ClaimRows implements ClaimView, GuardedRows {
  readonly #read = new Map<Table, Map<string, Seen<unknown> | undefined>>();
  readonly #readCounts = new Map<string, number>();
  readonly #missing = new Map<Table, Set<string>>();
  readonly #missingCounts = new Set<string>();
  /** By group, the counters of a mirror's members. */
  readonly #tallies = new Map<string, Map<string, number>>();
  #consumers = new Map<string, Seen<Consumer> | undefined>();
  #moved = { usage: new Map<string, Moved>(), project_usage: new Map<string, Moved>() };
  #counts = new Map<string, number>();

  constructor(
    private readonly reader: Reader,
    private readonly mirror: MirroredRows | undefined,
  ) {}

  /** Forgets what the claims of the batch make. */
  reset(): void {
    this.#consumers = new Map();
    this.#moved = { usage: new Map(), project_usage: new Map() };
    this.#counts = new Map();
  }

  /** Reads what was asked and not known; false when there is nothing. */
  async readMissing(): Promise<boolean> {
    if (this.#missing.size + this.#missingCounts.size === 0) return false;
    const names = [...this.#missingCounts];
    const [counts] = await Promise.all([
      names.length === 0 ? [] : this.reader.counts(names),
      ...[...this.#missing].map(async ([table, keys]) => {
        const list = [...keys];
        const rows = await this.reader.rows(table, list);
        for (const [n, key] of list.entries()) this.#readOf(table).set(key, rows[n]);
      }),
    ]);
    for (const [n, name] of names.entries()) this.#readCounts.set(name, counts[n] ?? 0);
    this.#missing.clear();
    this.#missingCounts.clear();
    return true;
  }

  get<T extends Table>(table: T, key: string): Seen<ClaimTables[T]> | undefined {
    if (table === 'consumer' && this.#consumers.has(key))
      return this.#consumers.get(key) as Seen<ClaimTables[T]> | undefined;
    const seen = this.#before(table, key) as Seen<ClaimTables[T]> | undefined;
    if (table !== 'usage' && table !== 'project_usage') return seen;
    const moved = this.#moved[table as AmountsTable].get(key);
    return moved ? (movedRow(table, seen, moved) as Seen<ClaimTables[T]>) : seen;
  }

  count(name: string, group: string): number {
    return this.#countBefore(name, group) + (this.#counts.get(name) ?? 0);
  }

  /** Takes what a claim of the batch writes, which is its transaction of this number. */
  apply(writes: readonly Write[], number: number): void {
    for (const write of writes) {
      if (write.kind === 'claim') this.#consumers.set(write.key, { row: write.row, revision: -number });
      else if (write.kind === 'delete') this.#consumers.set(write.key, undefined);
      else if (write.kind === 'count') this.#counts.set(write.name, (this.#counts.get(write.name) ?? 0) + write.by);
      else if (write.kind === 'add') {
        const moved = this.#moved[write.table].get(write.key) ?? { amounts: {}, revision: 0 };
        for (const [of, by] of write.amounts) moved.amounts[of] = (moved.amounts[of] ?? 0) + by;
        moved.revision = -number;
        this.#moved[write.table].set(write.key, moved);
      }
    }
  }

  isSame(): boolean {
    return true;
  }

  amount({ table, key, name }: Extract<Guard, { kind: 'amount' }>): number {
    const row = this.#before(table, key)?.row as { used?: Resources; amounts?: Resources } | undefined;
    const before = (row?.used ?? row?.amounts)?.[name] ?? 0;
    return before + (this.#moved[table].get(key)?.amounts[name] ?? 0);
  }

  heardAt(): undefined {
    return undefined;
  }

  #before(table: Table, key: string): Seen<unknown> | undefined {
    const read = this.#readOf(table);
    if (read.has(key)) return read.get(key);
    const seen = this.mirror ? rowOfMirror(this.mirror, table, key) : UNKNOWN;
    if (seen !== UNKNOWN) return seen;
    let missing = this.#missing.get(table);
    if (!missing) this.#missing.set(table, (missing = new Set()));
    missing.add(key);
    return undefined;
  }

  #countBefore(name: string, group: string): number {
    const read = this.#readCounts.get(name);
    if (read !== undefined) return read;
    if (this.mirror) return this.#tallyOf(this.mirror, group).get(name) ?? 0;
    this.#missingCounts.add(name);
    return 0;
  }

  #tallyOf(mirror: MirroredRows, group: string): Map<string, number> {
    let tally = this.#tallies.get(group);
    if (tally) return tally;
    this.#tallies.set(group, (tally = new Map()));
    for (const uuids of [mirror.groupMembers(group), mirror.keptPlaces(group)]) {
      for (const uuid of uuids) {
        const consumer = mirror.consumer(uuid);
        const names = (consumer && countersOfMember(consumer)?.names) ?? [];
        for (const name of names) tally.set(name, (tally.get(name) ?? 0) + 1);
      }
    }
    return tally;
  }

  #readOf(table: Table): Map<string, Seen<unknown> | undefined> {
    let read = this.#read.get(table);
    if (!read) this.#read.set(table, (read = new Map()));
    return read;
  }
}

/** A row with amounts that were moved; they are summed up for whoever asks. */
function movedRow(table: AmountsTable, seen: Seen<unknown> | undefined, { amounts, revision }: Moved): Seen<unknown> {
  if (table === 'usage') {
    const { generation, used } = (seen as Seen<ClaimTables['usage']> | undefined)?.row ?? { generation: 0, used: {} };
    return { row: { generation, used: withAmounts(used, Object.entries(amounts)) }, revision };
  }
  const row = (seen as Seen<ClaimTables['project_usage']> | undefined)?.row ?? { atMs: 0, amounts: {} };
  return {
    row: {
      atMs: row.atMs,
      get amounts() {
        return withAmounts(row.amounts, Object.entries(amounts));
      },
    },
    revision,
  };
}

/** A row as a mirror shows it, with the store's revision. Nominations and cohorts it has only in part. */
function rowOfMirror(mirror: MirroredRows, table: Table, key: string): Seen<unknown> | undefined | typeof UNKNOWN {
  switch (table) {
    case 'consumer':
      return seenOf(mirror.consumer(key));
    case 'provider':
      return seenOf(mirror.provider(key));
    case 'usage': {
      const provider = mirror.provider(key);
      return provider && { row: { generation: provider.generation, used: mirror.usage(key) }, revision: 0 };
    }
    case 'quota':
      return seenOf(mirror.quotas.quota(projectOfKey(key)));
    case 'project_usage':
      return { row: { atMs: 0, amounts: mirror.quotas.usage(projectOfKey(key)) }, revision: 0 };
    case 'nomination':
      return mirror.nominations().length === 0 && !mirror.isReserved(key) ? undefined : UNKNOWN;
    case 'admission_turn':
      return seenOf(mirror.admissionTurn());
    default:
      return UNKNOWN;
  }
}

function seenOf<T extends { readonly revision: number }>(row: T | undefined): Seen<T> | undefined {
  return row && { row, revision: row.revision };
}
