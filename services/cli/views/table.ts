import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import { formatNumber } from './format';
import type { Terminal } from './terminal';

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);

/** Usage as a bar and a percentage, as wide as the table allows. */
export interface Gauge {
  readonly used: number;
  readonly capacity: number;
}

type Cells = readonly (string | number)[];

const BAR_WIDTH = 10;
const NO_BAR = 0;
/** Widths of a bar; the table takes the first that fits. */
const BAR_WIDTHS = [BAR_WIDTH, 4, NO_BAR];

/** Columns, by index, that a narrow terminal omits: `first` when it does not fit without bars, then `last`. */
export interface SpareColumns {
  readonly first?: readonly number[];
  readonly last?: readonly number[];
}

/**
 * Aligns rows under a head, without borders. Columns of numbers (and empty cells) are right-aligned. On a narrower
 * terminal bars are shortened, spare columns are omitted, and the widest columns are wrapped between words, by
 * cli-table3; if it is still too wide, each row becomes a list of names and values (like `\x auto` of psql).
 */
export function table(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly (string | number | Gauge)[])[],
  { first = [], last = [] }: SpareColumns = {},
): string {
  const { columns = Number.POSITIVE_INFINITY } = terminal;
  const drawn = (barWidth: number, gone: readonly number[] = []): readonly Cells[] =>
    [head, ...rows].map((row) =>
      row
        .filter((_, column) => !gone.includes(column))
        .map((cell) => (typeof cell === 'object' ? bar(terminal, cell.used, cell.capacity, barWidth) : cell)),
    );
  const isWithin = (cells: readonly Cells[], between: string | RegExp) => sumOf(widthsOf(cells, between)) <= columns;
  const unwrapped = (gone: readonly number[] = []) =>
    BAR_WIDTHS.map((width) => drawn(width, gone)).find((cells) => isWithin(cells, '\n'));
  const whole = unwrapped();
  if (whole) return aligned(terminal, whole);
  for (const gone of [first, [...first, ...last]]) {
    const fitting = unwrapped(gone);
    if (fitting) return aligned(terminal, fitting);
    const narrowest = drawn(NO_BAR, gone);
    if (isWithin(narrowest, /\s+/)) return aligned(terminal, narrowest, widthsWithin(columns, narrowest));
  }
  const asFacts = (row: Cells) => row.map((cell, i): [string, string] => [head[i] ?? '', textOf(cell)]);
  return drawn(BAR_WIDTH)
    .slice(1)
    .map((row) => facts(terminal, asFacts(row)))
    .join('\n\n');
}

function aligned(terminal: Terminal, [head = [], ...rows]: readonly Cells[], widths?: number[]): string {
  const right = head.map((_, column) => {
    const cells = rows.map((row) => row[column]).filter((cell) => cell !== '');
    return cells.length > 0 && cells.every((cell) => typeof cell === 'number');
  });
  const lines = new Table({
    ...(widths && { colWidths: widths, wordWrap: true }),
    head: head.map((title) => terminal.colours.dim(title)),
    colAligns: right.map((isRight) => (isRight ? 'right' : 'left')),
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) lines.push(row.map(textOf));
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const textOf = (cell: string | number) => (typeof cell === 'number' ? formatNumber(cell) : cell);

const GAP = 2;
const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + GAP, -GAP);

/** The longest part of each column's cells, split into lines or words. */
function widthsOf([head = [], ...rows]: readonly Cells[], between: string | RegExp): number[] {
  const widthOf = (cell: string | number = '') =>
    Math.max(
      ...stripVTControlCharacters(textOf(cell))
        .split(between)
        .map((part) => part.length),
    );
  return head.map((title, i) => Math.max(widthOf(title), ...rows.map((row) => widthOf(row[i]))));
}

/** Column widths that fit together; none is below its longest word. */
function widthsWithin(columns: number, cells: readonly Cells[]): number[] {
  const widths = widthsOf(cells, '\n');
  const least = widthsOf(cells, /\s+/);
  const tooWide = sumOf(widths) - columns;
  for (let n = 0; n < tooWide; n++) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** One line per name and value, the values aligned, and wrapped between words when too long for the terminal. */
export function facts(terminal: Terminal, pairs: readonly (readonly [name: string, value: string])[]): string {
  const { columns = Number.POSITIVE_INFINITY, colours } = terminal;
  const [names = 0, values = 0] = widthsOf(pairs, '\n');
  const [, longestWord = 0] = widthsOf(pairs, /\s+/);
  const isTooWide = names + GAP + values > columns;
  const widths = isTooWide ? [names, Math.max(longestWord, columns - names - GAP)] : undefined;
  return aligned(terminal, [[], ...pairs.map(([name, value]) => [colours.dim(name), value])], widths);
}

/** Usage as a bar: `███████░░░  70%`, green to red; the percentage alone without width. */
export function bar({ colours, glyphs }: Terminal, used: number, capacity: number, width = BAR_WIDTH): string {
  const share = capacity > 0 ? used / capacity : 0;
  const colour = share >= 0.9 ? colours.red : share >= 0.7 ? colours.yellow : colours.green;
  const percent = `${Math.round(share * 100)}%`;
  if (width === NO_BAR) return colour(percent);
  const filled = Math.min(width, Math.round(share * width));
  return `${colour(glyphs.full.repeat(filled))}${colours.dim(glyphs.empty.repeat(width - filled))} ${percent.padStart(4)}`;
}
