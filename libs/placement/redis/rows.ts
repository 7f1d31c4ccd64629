import { asCatalogueName, asProvider, asUsage } from '../commands/as-rows';
import type { TableName } from '../commands/tables';
import type { Change, Rows } from '../store';
import { decodeCell, decodeConsumer } from './cells';
import type { KnownConsumers } from './claim-args';

type Lists = { -readonly [K in keyof Rows]: NonNullable<Rows[K]>[number][] };

/** One row that changed: its cell, '' when it is gone. The key may be a slice of a longer text. */
export interface Line {
  readonly table: TableName;
  readonly key: string;
  readonly cell: string;
}

/**
 * The text of one change record: a line for each row, `<table> <key> <cell>`. `known` is what this process itself wrote of
 * consumers.
 */
export function decodeChange(revision: number, text: string, known?: KnownConsumers): Change {
  return { ...decodeLines(text.split('\n').map(parseLine), known), revision };
}

/** Rows as readers see them. A provider's line comes with its usage's, which has the generation. */
export function decodeLines(lines: readonly Line[], known?: KnownConsumers): Rows {
  const rows: Partial<Lists> = {};
  const generations = new Map<string, number>();
  for (const line of lines) {
    if (line.table !== 'usage' || line.cell === '') continue;
    const usage = asUsage(detached(line.key), decodeCell('usage', line.key, line.cell));
    generations.set(line.key, usage.generation);
    (rows.usages ??= []).push(usage);
  }
  for (const line of lines) if (line.table !== 'usage') addRow(rows, line, generations, known);
  return rows;
}

function parseLine(text: string): Line {
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  return {
    table: text.slice(0, first) as TableName,
    key: text.slice(first + 1, second),
    cell: text.slice(second + 1),
  };
}

/**
 * A copy on its own. A slice of a string holds on to all of it, and keys live as long as their rows: without this, each
 * consumer in a mirror would keep the text of the change that brought it.
 */
function detached(slice: string): string {
  return Buffer.from(slice).toString();
}

function addRow(
  rows: Partial<Lists>,
  { table, key: text, cell }: Line,
  generations: ReadonlyMap<string, number>,
  known: KnownConsumers | undefined,
): void {
  const isGone = cell === '';
  const own = table === 'consumer' ? known?.get(text) : undefined;
  const key = own?.uuid ?? detached(text);
  switch (table) {
    case 'provider':
      if (isGone) (rows.deletedProviders ??= []).push(key);
      else (rows.providers ??= []).push(asProvider(decodeCell(table, key, cell), generations.get(key) ?? 0));
      break;
    case 'host': {
      if (isGone) {
        (rows.deletedHosts ??= []).push(key);
        break;
      }
      const { row, revision } = decodeCell(table, key, cell);
      (rows.hosts ??= []).push({ ...row, revision });
      break;
    }
    case 'consumer':
      if (isGone) (rows.deletedConsumers ??= []).push(key);
      else (rows.consumers ??= []).push(decodeConsumer(key, cell, own?.rest));
      break;
    case 'resource_class':
      if (isGone) (rows.deletedResourceClasses ??= []).push(key);
      else (rows.resourceClasses ??= []).push(asCatalogueName(key, decodeCell(table, key, cell)));
      break;
    case 'trait':
      if (isGone) (rows.deletedTraits ??= []).push(key);
      else (rows.traits ??= []).push(asCatalogueName(key, decodeCell(table, key, cell)));
      break;
    case 'usage':
    case 'name':
    case 'tree':
    case 'sequence':
      break;
  }
}
