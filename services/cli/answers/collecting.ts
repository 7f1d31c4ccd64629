import type { Terminal } from '../views/terminal';

/** What was printed, as one text, and the notes beside it. */
export interface Collected {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Runs what prints, and keeps what it says instead of showing it. */
export function collecting(terminal: Terminal, work: (collector: Terminal) => void): Collected {
  const lines: string[] = [];
  const notes: string[] = [];
  work({
    ...terminal,
    columns: terminal.columns,
    print: (text) => void lines.push(text),
    note: (text) => void notes.push(text),
  });
  return { text: lines.join('\n'), notes };
}
