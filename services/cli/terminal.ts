import type { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import pc from 'picocolors';
import type { Environment } from '#libs/runtime/system';
import { type Glyphs, glyphsFor } from './glyphs';

/** Where a command writes: answers to `out`, everything else (progress, notes, errors) to `err`. */
export interface Terminal {
  readonly colours: ReturnType<typeof pc.createColors>;
  /** What bars and trees are drawn with. */
  readonly glyphs: Glyphs;
  /** A line of the answer. */
  print(text: string): void;
  /** The answer as one JSON value on one line. */
  json(value: unknown): void;
  /** A line beside the answer. */
  note(text: string): void;
  /** A line that the next one replaces on a terminal; elsewhere nothing. */
  progress(text: string): void;
  /** Whether `progress` is seen. */
  readonly isInteractive: boolean;
}

type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Colours only on a terminal, and never when NO_COLOR is set (no-color.org). */
export function createTerminal(out: Stream, err: Stream, env: Environment): Terminal {
  const wantsColour =
    !env['NO_COLOR'] && (Boolean(env['FORCE_COLOR']) || (out.isTTY === true && env['TERM'] !== 'dumb'));
  const isInteractive = err.isTTY === true && env['TERM'] !== 'dumb';
  let hasProgress = false;
  const clearProgress = () => {
    if (hasProgress) err.write('\r\x1b[K');
    hasProgress = false;
  };
  return {
    colours: pc.createColors(wantsColour),
    glyphs: glyphsFor(env),
    isInteractive,
    print(text) {
      clearProgress();
      out.write(`${text}\n`);
    },
    json(value) {
      clearProgress();
      out.write(`${JSON.stringify(value)}\n`);
    },
    note(text) {
      clearProgress();
      err.write(`${text}\n`);
    },
    progress(text) {
      if (!isInteractive) return;
      err.write(`\r\x1b[K${cutTo((err.columns ?? 80) - 1, text)}`);
      hasProgress = true;
    },
  };
}

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid']
    .concat(['mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);

/** Lines up rows under a head, without borders. Columns of numbers, and perhaps of empty cells, go to the right. */
export function table(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const right = head.map((_, column) => {
    const cells = rows.map((row) => row[column]).filter((cell) => cell !== '');
    return cells.length > 0 && cells.every((cell) => typeof cell === 'number');
  });
  const lines = new Table({
    head: head.map((title) => terminal.colours.dim(title)),
    colAligns: right.map((isRight) => (isRight ? 'right' : 'left')),
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) lines.push(row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** `1,234`, `12.3`: whole numbers whole, others with what a reader needs. */
export function formatNumber(value: number): string {
  const fractionDigits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 1;
  return value.toLocaleString('en-US', {
    minimumFractionDigits: fractionDigits,
    maximumFractionDigits: fractionDigits,
  });
}

/** How full something is: `███████░░░  70%`, green to red. */
export function bar(terminal: Terminal, used: number, capacity: number, width = 10): string {
  const share = capacity > 0 ? used / capacity : 0;
  const { red, yellow, green } = terminal.colours;
  return drawBar(terminal, share, width, share >= 0.9 ? red : share >= 0.7 ? yellow : green);
}

/** How far something is: the same, in one colour. */
export function progressBar(terminal: Terminal, done: number, total: number, width = 20): string {
  return drawBar(terminal, total > 0 ? done / total : 1, width, terminal.colours.cyan);
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

/** A line longer than the terminal would wrap, and could not be replaced; it loses its colours with its end. */
function cutTo(columns: number, text: string): string {
  const plain = stripVTControlCharacters(text);
  return plain.length <= columns ? text : plain.slice(0, columns);
}
