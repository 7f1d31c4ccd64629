import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import { formatNumber } from './format';
import type { Terminal } from './terminal';

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);

/**
 * Aligns rows under a head, without borders. Columns of numbers (and empty cells) are right-aligned. On a terminal that is
 * narrower than it, the widest columns are wrapped between words, by cli-table3.
 */
export function table(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const right = head.map((_, column) => {
    const cells = rows.map((row) => row[column]).filter((cell) => cell !== '');
    return cells.length > 0 && cells.every((cell) => typeof cell === 'number');
  });
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  const widths = widthsWithin(terminal.columns, [head, ...cells]);
  const lines = new Table({
    ...(widths && { colWidths: widths, wordWrap: true }),
    head: head.map((title) => terminal.colours.dim(title)),
    colAligns: right.map((isRight) => (isRight ? 'right' : 'left')),
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of cells) lines.push(row);
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const GAP = 2;

/** How wide each column may be so that all fit; undefined when they do as they are. None is narrower than its longest word. */
function widthsWithin(columns: number | undefined, rows: readonly (readonly string[])[]): number[] | undefined {
  if (columns === undefined) return undefined;
  const across = (lengthOf: (text: string) => number) =>
    (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => lengthOf(stripVTControlCharacters(row[i] ?? '')))));
  const widths = across((text) => Math.max(...text.split('\n').map((line) => line.length)));
  const least = across((text) => Math.max(...text.split(/\s+/).map((word) => word.length)));
  let tooWide = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  if (tooWide <= 0) return undefined;
  while (tooWide > 0) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if (spare[widest] === 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    tooWide -= 1;
  }
  return widths;
}

/** One line per name and value, the values aligned. */
export function facts({ colours }: Terminal, pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2;
  return pairs.map(([name, value]) => `${colours.dim(name.padEnd(width))}${value}`).join('\n');
}

/** Usage as a bar: `███████░░░  70%`, green to red. */
export function bar(terminal: Terminal, used: number, capacity: number, width = 10): string {
  const share = capacity > 0 ? used / capacity : 0;
  const { red, yellow, green } = terminal.colours;
  return drawBar(terminal, share, width, share >= 0.9 ? red : share >= 0.7 ? yellow : green);
}

/** Progress as a bar, in one colour. */
export function progressBar(terminal: Terminal, done: number, total: number): string {
  return drawBar(terminal, total > 0 ? done / total : 1, 20, terminal.colours.cyan);
}

function drawBar(
  { colours, glyphs }: Terminal,
  share: number,
  width: number,
  colour: (text: string) => string,
): string {
  const filled = Math.min(width, Math.round(share * width));
  const percent = `${Math.round(share * 100)}%`.padStart(4);
  return `${colour(glyphs.full.repeat(filled))}${colours.dim(glyphs.empty.repeat(width - filled))} ${percent}`;
}
