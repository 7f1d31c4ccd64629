import { type Packable, packMessage } from '../../redis/message-pack';
import type { Stored, TableName, Tables } from '../commands/tables';
import { type Guard, isCommit, type Proposal, type Write } from '../commands/transaction';
import { encodeClaim, encodeContent, headOf } from './row-format';

/** Each table's place among the KEYS of `lua/commit.lua`. */
export const TABLE_KEYS: Readonly<Record<TableName, number>> = {
  provider: 7,
  usage: 8,
  host: 9,
  consumer: 10,
  resource_class: 11,
  trait: 12,
  name: 13,
  tree: 14,
  sequence: 15,
  holder: 16,
  quota: 17,
  cohort: 18,
  project_usage: 19,
  project_days: 20,
  aggregate: 21,
  server_group: 22,
  lease: 23,
  nomination: 24,
  usage_parts: 25,
  guarantee: 26,
  reservation: 27,
  recent_use: 28,
  admission_turn: 29,
};
const ROWS_PER_TABLE = 16_777_216;

/** Proposals as `lua/commit.lua` takes them. */
export function encodeBatch(proposals: readonly Proposal[]): Buffer {
  const batch = new BatchEncoder();
  for (const proposal of proposals) batch.add(proposal);
  return batch.pack();
}

/** The number of the script's guards that a guard becomes: one for each of its bounds. */
export function guardsOfScript(guard: Guard): number {
  if (guard.kind === 'row' || guard.kind === 'silent') return 1;
  return (guard.most === undefined ? 0 : 1) + (guard.least === undefined ? 0 : 1);
}

class BatchEncoder {
  readonly #rows = new Map<TableName, { readonly list: Packable[]; readonly places: Map<string, number> }>();
  readonly #counters: string[] = [];
  readonly #counterPlaces = new Map<string, number>();
  readonly #words: (number | string | boolean)[] = [];

  add({ guards, writes, refusal }: Proposal): void {
    const start = this.#words.length;
    const made = refusal === undefined ? writes : [];
    this.#words.push(0, isCommit(made) ? 1 : 0, 0);
    let guardCount = 0;
    for (const guard of guards) {
      this.#addGuard(guard);
      guardCount += guardsOfScript(guard);
    }
    for (const write of made) this.#addWrite(write);
    this.#words[start] = this.#words.length - start - 1;
    this.#words[start + 2] = guardCount;
  }

  pack(): Buffer {
    return packMessage([[...this.#rows.values()].map(({ list }) => list), this.#counters, this.#words]);
  }

  #addGuard(guard: Guard): void {
    switch (guard.kind) {
      case 'row':
        this.#words.push(1, this.#row(guard.table, guard.key), headOfGuard(guard), 0);
        break;
      case 'amount': {
        const row = this.#row(guard.table, guard.key);
        if (guard.most !== undefined) this.#words.push(2, row, guard.name, guard.most);
        if (guard.least !== undefined) this.#words.push(3, row, guard.name, guard.least);
        break;
      }
      case 'count': {
        const counter = this.#counter(guard.name);
        if (guard.most !== undefined) this.#words.push(4, counter, guard.most, 0);
        if (guard.least !== undefined) this.#words.push(5, counter, guard.least, 0);
        break;
      }
      case 'silent':
        this.#words.push(6, guard.host, guard.silentSinceMs, 0);
    }
  }

  #addWrite(write: Write): void {
    const words = this.#words;
    switch (write.kind) {
      case 'put':
        if (write.table === 'sequence') this.#addReport(write.key, write.row);
        else words.push(1, this.#row(write.table, write.key), encodeContent(write.table, write.row as never));
        break;
      case 'claim':
        words.push(2, this.#row('consumer', write.key), encodeClaim(write.row));
        break;
      case 'delete':
        words.push(3, this.#row(write.table, write.key));
        break;
      case 'add':
        words.push(4, this.#row(write.table, write.key), write.amounts.length);
        for (const [name, by] of write.amounts) words.push(name, by);
        break;
      case 'raise':
        words.push(5, this.#row('usage', write.key));
        break;
      case 'stamp':
        words.push(6, this.#row('project_usage', write.key), write.atMs);
        break;
      case 'show':
        words.push(7, this.#row('usage', write.key));
        break;
      case 'count':
        words.push(8, this.#counter(write.name), write.by);
        break;
      case 'record':
        words.push(12, write.key, write.text, write.mostOfProject, write.most);
        break;
      case 'unrecord':
        words.push(13, write.key, write.text);
        break;
      case 'beat':
        words.push(10, write.host, write.atMs);
        break;
      case 'mute':
        words.push(11, write.host);
        break;
    }
  }

  /** A host's last report, with the revisions of the rows that say the same. */
  #addReport(host: string, row: Tables['sequence']): void {
    const rows = [this.#row('host', host), ...row.providerUuids.map((uuid) => this.#row('provider', uuid))];
    this.#words.push(9, this.#row('sequence', host), encodeContent('sequence', row), rows.length, ...rows);
  }

  #row(table: TableName, key: string): number {
    let rows = this.#rows.get(table);
    if (!rows) this.#rows.set(table, (rows = { list: [TABLE_KEYS[table]], places: new Map() }));
    let place = rows.places.get(key);
    if (place === undefined) {
      place = rows.list.push(key) - 1;
      rows.places.set(key, place);
    }
    return TABLE_KEYS[table] * ROWS_PER_TABLE + place;
  }

  #counter(name: string): number {
    let place = this.#counterPlaces.get(name);
    if (place === undefined) this.#counterPlaces.set(name, (place = this.#counters.push(name)));
    return place;
  }
}

/**
 * The beginning that a row's text must have: the revision that was read. Sequences have none, so all that was read counts. A row that
 * an earlier transaction of the batch makes has its number, negative, as its revision.
 */
function headOfGuard({ table, stored }: Extract<Guard, { kind: 'row' }>): string | number | false {
  if (!stored) return false;
  if (stored.revision < 0) return -stored.revision;
  if (table !== 'sequence') return headOf(stored.revision);
  return headOf(0) + encodeContent(table, (stored as Stored<Tables['sequence']>).row);
}
