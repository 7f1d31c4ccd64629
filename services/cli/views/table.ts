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

/** A UUID, which a narrow terminal shows by its beginning; commands take that, too. */
export interface Uuid {
  readonly uuid: string;
}

export type Cell = string | number | Gauge | Uuid;

type Cells = readonly (string | number)[];

const BAR_WIDTH = 10;
const NO_BAR = 0;
const UUID_LENGTH = 36;
const SHORT_UUID_LENGTH = 8;
/** A text cut to less says nothing. */
const LEAST_CUT = 16;
/** Widths of a bar; the table takes the first that fits. */
const BAR_WIDTHS = [BAR_WIDTH, 4, NO_BAR];

/** Ways in which a table becomes narrower. */
export interface Narrowing {
  /** Columns, by index, that are omitted when it does not fit without bars; `last` after them. */
  readonly first?: readonly number[];
  readonly last?: readonly number[];
  /** Cuts long texts instead of wrapping them: a row stays one line. */
  readonly cuts?: boolean;
}

/**
 * Aligns rows under a head, without borders. Columns of numbers (and empty cells) are right-aligned. On a narrower
 * terminal UUIDs and bars are shortened, spare columns are omitted, and the widest columns are wrapped between words, by
 * cli-table3, or cut; if it is still too wide, each row becomes a list of names and values (like `\x auto` of psql).
 */
export function table(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { first = [], last = [], cuts = false }: Narrowing = {},
): string {
  const { columns = Number.POSITIVE_INFINITY } = terminal;
  const shortLength = shortLengthOf(rows);
  const drawn = (barWidth: number, uuidLength: number, gone: readonly number[] = []): readonly Cells[] =>
    [head, ...rows].map((row) =>
      row
        .filter((_, column) => !gone.includes(column))
        .map((cell) => {
          if (typeof cell !== 'object') return cell;
          return 'uuid' in cell ? cell.uuid.slice(0, uuidLength) : bar(terminal, cell.used, cell.capacity, barWidth);
        }),
    );
  const isWithin = (cells: readonly Cells[], between: string | RegExp) => sumOf(widthsOf(cells, between)) <= columns;
  const unwrapped = (uuidLength: number, gone: readonly number[] = []) =>
    BAR_WIDTHS.map((width) => drawn(width, uuidLength, gone)).find((cells) => isWithin(cells, '\n'));
  const whole = unwrapped(UUID_LENGTH) ?? unwrapped(shortLength);
  if (whole) return aligned(terminal, whole);
  for (const gone of [first, [...first, ...last]]) {
    const fitting = unwrapped(shortLength, gone);
    if (fitting) return aligned(terminal, fitting);
    const narrowest = drawn(NO_BAR, shortLength, gone);
    if (cuts) {
      const least = widthsOf(narrowest, '\n').map((width) => Math.min(width, LEAST_CUT));
      if (sumOf(least) <= columns) return aligned(terminal, cut(terminal, narrowest, least));
    } else if (isWithin(narrowest, /\s+/)) {
      return aligned(terminal, narrowest, widthsWithin(columns, narrowest, widthsOf(narrowest, /\s+/)));
    }
  }
  const asFacts = (row: Cells) => row.map((cell, i): [string, string] => [head[i] ?? '', textOf(cell)]);
  return drawn(BAR_WIDTH, UUID_LENGTH)
    .slice(1)
    .map((row) => facts(terminal, asFacts(row)))
    .join('\n\n');
}

/** The shortest beginnings that tell the table's UUIDs apart, at least as long as their first group. */
function shortLengthOf(rows: readonly (readonly Cell[])[]): number {
  const uuids = new Set(rows.flat().flatMap((cell) => (typeof cell === 'object' && 'uuid' in cell ? [cell.uuid] : [])));
  for (let length = SHORT_UUID_LENGTH; length < UUID_LENGTH; length++) {
    if (new Set([...uuids].map((uuid) => uuid.slice(0, length))).size === uuids.size) return length;
  }
  return UUID_LENGTH;
}

/** The cells, the widest columns cut to what fits, but to no less than `least`. */
function cut(terminal: Terminal, cells: readonly Cells[], least: readonly number[]): readonly Cells[] {
  const widths = widthsWithin(terminal.columns ?? Number.POSITIVE_INFINITY, cells, least);
  return cells.map((row) =>
    row.map((cell, i) => {
      const [text, width] = [stripVTControlCharacters(textOf(cell)).split('\n', 1)[0] ?? '', widths[i] ?? 0];
      return text.length > width ? `${text.slice(0, width - 1)}${terminal.glyphs.cut}` : cell;
    }),
  );
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
  for (const row of rows) lines.push(...linesOf(row.map(textOf)));
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A row for each line of its cells: cli-table3 takes quadratic time for a cell of several lines, a second for `berth config`. */
function linesOf(row: readonly string[]): string[][] {
  const cells = row.map((text) => text.split('\n'));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, n) => cells.map((lines) => lines[n] ?? ''));
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

/** Column widths that fit together; none is below its least. */
function widthsWithin(columns: number, cells: readonly Cells[], least: readonly number[]): number[] {
  const widths = widthsOf(cells, '\n');
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
