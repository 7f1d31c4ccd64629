import type { Page } from './render';

/** A part of a page below one heading, as the script of the search reads it. */
export interface SearchEntry {
  /** From the root of the site: `services/scheduler.html#settings`. */
  readonly address: string;
  readonly title: string;
  /** The heading; the title again for what stands before the first. */
  readonly heading: string;
  /** Each word of it once, in lower case. */
  readonly words: string;
}

const HEADING = /<h[1-4][^>]*\sid="([^"]*)"[^>]*>/;

/** Entries of the site's search. */
export function searchIndex(pages: readonly Page[]): SearchEntry[] {
  return pages.flatMap(({ address, title, headings, html }) => {
    const [, ...parts] = html.split(HEADING);
    return headings.flatMap(({ anchor, text, level }, i): SearchEntry[] => {
      const body = parts[parts.indexOf(anchor, 2 * i) + 1] ?? '';
      const entry = { title, heading: text, words: wordsOf(body) };
      return [{ address: level === 1 ? address : `${address}#${anchor}`, ...entry }];
    });
  });
}

function wordsOf(html: string): string {
  const text = html.replace(/<[^>]*>/g, ' ').replace(/&(amp|lt|gt|quot);/g, (_, name: string) => ENTITIES[name] ?? ' ');
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}_.:/-]*[\p{L}\p{N}]/gu) ?? [])].join(' ');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
