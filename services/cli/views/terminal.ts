import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { Help } from 'commander';
import pc from 'picocolors';
import type { Environment } from '#libs/runtime/system';
import { harmless, harmlessJson } from '../answers/harmless';
import { withProgramKeys } from './program-keys';

/** A command's output: answers go to `out`; progress, notes and errors to `err`. */
export interface Terminal {
  readonly colours: ReturnType<typeof pc.createColors>;
  /** The characters of bars and trees. */
  readonly glyphs: Glyphs;
  /** Prints a line of the answer. */
  print(text: string): void;
  /** Prints the answer as one JSON value on one line, with `withProgramKeys`. */
  json(value: unknown): void;
  /** Prints a line outside the answer. */
  note(text: string): void;
  /** The stream of notes, for direct drawing; without `isTTY` when it can't be redrawn. */
  readonly errors: Stream;
  /** True when `errors` can be redrawn. */
  readonly isInteractive: boolean;
  /** Characters per line; undefined when `out` is no terminal: then nothing is wrapped. */
  readonly columns: number | undefined;
  /** The whole terminal, to draw on; undefined when `out` is none. */
  readonly screen: Screen | undefined;
}

/** A terminal drawn as a whole. */
export interface Screen {
  /** Its present number of lines. */
  readonly rows: number;
  /** Replaces its content by these lines, each cut to the width. */
  draw(lines: readonly string[]): void;
  /** Calls back for each key, Ctrl-C included, until the end. Never without a keyboard. */
  onKey(listener: (key: string) => void): void;
  /** Restores the former content. */
  end(): void;
}

/** A keyboard: standard input on a terminal. */
export type Keyboard = Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>;

/**
 * The characters of bars and trees. `branch` is before a child with siblings after it, `through` before the lines below
 * such a child, `lastBranch` before the last child.
 */
export type Glyphs = typeof UNICODE;

type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** Colours only on a terminal, and never when NO_COLOR is set (no-color.org). */
export function createTerminal(out: Stream, err: Stream, env: Environment, keyboard?: Keyboard): Terminal {
  const wantsColour =
    !env['NO_COLOR'] && (Boolean(env['FORCE_COLOR']) || (out.isTTY === true && env['TERM'] !== 'dumb'));
  const isInteractive = err.isTTY === true && env['TERM'] !== 'dumb';
  const printLine = (stream: Stream, text: string) => stream.write(`${harmless(text)}\n`);
  return {
    colours: pc.createColors(wantsColour),
    glyphs: glyphsFor(env),
    errors: isInteractive ? err : writingTo(err),
    isInteractive,
    get columns() {
      return out.isTTY === true ? out.columns : undefined;
    },
    screen: out.isTTY === true && env['TERM'] !== 'dumb' ? screenOn(out, keyboard) : undefined,
    print: (text) => printLine(out, text),
    json: (value) => printLine(out, harmlessJson(JSON.stringify(value, withProgramKeys))),
    note: (text) => printLine(err, text),
  };
}

const help = new Help();

/** Wraps sentences to the terminal's width between words, each line indented; unchanged where nothing is wrapped. */
export function wrapped({ columns }: Terminal, text: string, indent = ''): string {
  if (columns === undefined) return indent + text;
  return help.boxWrap(text, columns - indent.length).replaceAll(/^/gm, indent);
}

/** A stream that is never a terminal. */
function writingTo(stream: Stream): Writable {
  const write = (text: string, _: string, done: () => void) => {
    stream.write(text);
    done();
  };
  return new Writable({ decodeStrings: false, write });
}

/** The terminal's alternate screen, so that the former content comes back. */
function screenOn(out: Stream, keyboard?: Keyboard): Screen {
  let isOn = false;
  let stopListening = () => {};
  return {
    get rows() {
      return out.rows ?? 24;
    },
    draw(lines) {
      const shown = lines.slice(0, this.rows).map((line) => `${cutTo(out.columns ?? 80, harmless(line))}\x1b[K`);
      out.write(`${isOn ? '' : '\x1b[?1049h\x1b[?25l'}\x1b[H${shown.join('\r\n')}\x1b[J`);
      isOn = true;
    },
    onKey(listener) {
      if (keyboard?.isTTY) stopListening = listenTo(keyboard, listener);
    },
    end() {
      stopListening();
      if (isOn) out.write('\x1b[?25h\x1b[?1049l');
      isOn = false;
    },
  };
}

/** Key by key, without waiting for a line. */
function listenTo(keyboard: Keyboard, listener: (key: string) => void): () => void {
  const hear = (data: Buffer) => listener(data.toString());
  keyboard.setRawMode(true);
  keyboard.on('data', hear);
  keyboard.resume();
  return () => {
    keyboard.off('data', hear);
    keyboard.setRawMode(false);
    keyboard.pause();
  };
}

/** Cuts a line to the terminal's width (a wrapped one would take two); a cut line has no colours. */
function cutTo(columns: number, text: string): string {
  const plain = stripVTControlCharacters(text);
  return plain.length <= columns ? text : plain.slice(0, columns);
}

const UNICODE = { full: '█', empty: '░', cut: '…', branch: '├─ ', lastBranch: '└─ ', through: '│  ' };
const ASCII: Glyphs = { full: '#', empty: '.', cut: '~', branch: '|- ', lastBranch: '`- ', through: '|  ' };

/** ASCII with TERM=dumb or a locale other than UTF-8. Without any locale, as in most containers, UTF-8 is assumed. */
export function glyphsFor(env: Environment): Glyphs {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const isUtf8 = locale === '' || /utf-?8/i.test(locale);
  return isUtf8 && env['TERM'] !== 'dumb' ? UNICODE : ASCII;
}
