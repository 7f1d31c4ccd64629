import { linkBetween } from './addresses';
import type { Page } from './render';
import { CONTENTS } from './repository';

/** A part of the navigation: a heading of the table of contents, and what it links to below it. */
export interface Section {
  readonly title: string;
  readonly items: readonly { readonly label: string; readonly page: Page }[];
}

/** The navigation, as the table of contents has it: its second headings and the links below each. */
export function navigationOf(pages: readonly Page[]): Section[] {
  const contents = pages.find(({ source }) => source.path === CONTENTS);
  const [, ...texts] = (contents?.source.markdown ?? '').split(/^## /m);
  return texts.map((text) => {
    const links = [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)];
    const items = links.flatMap(([, label = '', href]) => {
      const link = contents?.links.find(({ written }) => written === href);
      const page = pages.find(({ address }) => link?.kind === 'page' && link.address === address);
      return page ? [{ label: `${label.charAt(0).toUpperCase()}${label.slice(1)}`, page }] : [];
    });
    return { title: text.split('\n', 1)[0] ?? '', items };
  });
}

/** The navigation as a page shows it, with that page's own second headings below its name. */
export function showNavigation(sections: readonly Section[], own: Page, escape: (text: string) => string): string {
  const item = ({ label, page }: Section['items'][number]) => {
    const isHere = page.address === own.address;
    const link = `<a href="${linkBetween(own.address, page.address)}"${isHere ? ' aria-current="page"' : ''}>${escape(label)}</a>`;
    return `<li>${link}${isHere ? partsOf(own, escape) : ''}</li>`;
  };
  const shown = sections.map(({ title, items }) => {
    return `<h2>${escape(title)}</h2>\n<ul>\n${items.map(item).join('\n')}\n</ul>`;
  });
  return shown.join('\n');
}

function partsOf({ headings }: Page, escape: (text: string) => string): string {
  const second = headings.filter(({ level }) => level === 2);
  if (second.length < 2) return '';
  return `<ul>${second.map(({ text, anchor }) => `<li><a href="#${anchor}">${escape(text)}</a></li>`).join('')}</ul>`;
}
