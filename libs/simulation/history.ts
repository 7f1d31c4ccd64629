import { createHash } from 'node:crypto';

/** Something that happened: who did what to whom. */
export interface Entry {
  readonly atMs: number;
  readonly from: string;
  /** The same as `from` for what a party does by itself. */
  readonly to: string;
  readonly what: string;
}

/** What happened in a run, in order. Its digest is the same if and only if all of it is. */
export class History {
  readonly entries: Entry[] = [];
  readonly #hash = createHash('sha256');

  note(entry: Entry): void {
    this.entries.push(entry);
    this.#hash.update(`${entry.atMs} ${entry.from} ${entry.to} ${entry.what}\n`);
  }

  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}
