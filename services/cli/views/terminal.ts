import type { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import type { Environment } from '#libs/runtime/system';

/** A command's output: answers go to `out`; progress, notes and errors to `err`. */
export interface Terminal {
  readonly colours: ReturnType<typeof pc.createColors>;
  /** The characters of bars and trees. */
  readonly glyphs: Glyphs;
  /** Prints a line of the answer. */
  print(text: string): void;
  /** Prints the answer as one JSON value on one line. */
  json(value: unknown): void;
  /** Prints a line that is not part of the answer. */
  note(text: string): void;
  /** Prints a line that the next one replaces; nothing when `err` is no terminal. */
  progress(text: string): void;
  /** Whether `progress` prints. */
  readonly isInteractive: boolean;
}

/** The characters that bars and trees are drawn with: Unicode or ASCII. */
export interface Glyphs {
  readonly full: string;
  readonly empty: string;
  /** Before a child: one with siblings after it, and the last one. */
  readonly branch: string;
  readonly lastBranch: string;
  /** Before the lines below a child with siblings after it. */
  readonly through: string;
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

/** Cuts a line to the width of the terminal (a wrapped line could not be replaced); a cut line has no colours. */
function cutTo(columns: number, text: string): string {
  const plain = stripVTControlCharacters(text);
  return plain.length <= columns ? text : plain.slice(0, columns);
}

const UNICODE: Glyphs = {
  full: '█',
  empty: '░',
  branch: '├─ ',
  lastBranch: '└─ ',
  through: '│  ',
};
const ASCII: Glyphs = { full: '#', empty: '.', branch: '|- ', lastBranch: '`- ', through: '|  ' };

/**
 * ASCII with TERM=dumb or a locale other than UTF-8. Without any locale, as in most containers, the terminal is taken to
 * be a UTF-8 one.
 */
export function glyphsFor(env: Environment): Glyphs {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const isUtf8 = locale === '' || /utf-?8/i.test(locale);
  return isUtf8 && env['TERM'] !== 'dumb' ? UNICODE : ASCII;
}
