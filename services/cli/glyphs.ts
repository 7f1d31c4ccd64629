import type { Environment } from '#libs/runtime/system';

/** The characters that bars and trees are drawn with. */
export interface Glyphs {
  readonly full: string;
  readonly empty: string;
  /** In front of a child: one with siblings after it, and the last one. */
  readonly branch: string;
  readonly lastBranch: string;
  /** In front of what is below such a child. */
  readonly through: string;
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
 * ASCII where the terminal says that it knows no better: TERM=dumb, or a locale that is no UTF-8 one. Without a locale,
 * as in most containers, the terminal is that of somebody who has one.
 */
export function glyphsFor(env: Environment): Glyphs {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const isUtf8 = locale === '' || /utf-?8/i.test(locale);
  return isUtf8 && env['TERM'] !== 'dumb' ? UNICODE : ASCII;
}
