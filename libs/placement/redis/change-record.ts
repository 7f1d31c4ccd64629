import { addRow, type RowLists, type TableName } from '../commands/tables';
import type { Change, Rows } from '../port/placement-store';
import { decodeConsumer, decodeRow, detached, isTable } from './row-format';

/** One row that changed: its text, '' when it is gone. The key may be a slice of a longer text. */
export interface Line {
  readonly table: TableName;
  readonly key: string;
  readonly text: string;
}

/** Reads one change record of the stream: a line for each row, `<table> <key> <row text>`. */
export function decodeChange(revision: number, text: string): Change {
  return { ...decodeLines(text.split('\n').map(parseLine)), revision };
}

/** Rows as readers see them. A provider's line comes with its usage's, which has the generation. */
export function decodeLines(lines: readonly Line[]): Rows {
  const rows: RowLists = {};
  const generations = new Map<string, number>();
  for (const { table, key, text } of lines) {
    if (table !== 'usage' || text === '') continue;
    const usage = decodeRow(table, key, text);
    generations.set(key, usage.row.generation);
    addRow(rows, table, { key: detached(key), stored: usage });
  }
  for (const { table, key, text } of lines) {
    // A later version may have tables of which this one knows nothing.
    if (table === 'usage' || !isTable(table)) continue;
    const rowKey = detached(key);
    if (text === '') addRow(rows, table, { key: rowKey, stored: undefined });
    else if (table === 'consumer') (rows.consumers ??= []).push(decodeConsumer(rowKey, text));
    else
      addRow(rows, table, {
        key: rowKey,
        stored: decodeRow(table, rowKey, text),
        generation: generations.get(key),
      });
  }
  return rows;
}

function parseLine(text: string): Line {
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  return {
    table: text.slice(0, first) as TableName,
    key: text.slice(first + 1, second),
    text: text.slice(second + 1),
  };
}
