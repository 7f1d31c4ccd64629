import type { Terminal } from '../views/terminal';

/** Printed output as one text, with its notes. */
export interface Collected {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Runs work with a terminal that collects output instead of showing it. */
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
