import { hash } from 'node:crypto';

/** Something that happened: who did what to whom. */
export interface Entry {
  readonly atMs: number;
  readonly from: string;
  /** The same as `from` for what a party does by itself. */
  readonly to: string;
  readonly what: string;
}

/** Events of a run, in order. Equal digests mean equal histories. */
export class History {
  readonly entries: Entry[] = [];

  note(entry: Entry): void {
    this.entries.push(entry);
  }

  digest(): string {
    const lines = this.entries.map(({ atMs, from, to, what }) => `${atMs} ${from} ${to} ${what}`);
    return hash('sha256', lines.join('\n')).slice(0, 16);
  }
}
